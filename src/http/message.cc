#include "http/message.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/chars.h"

namespace plimsoll::http {
namespace {

constexpr std::array<std::string_view, 10> kMethodNames = {"GET",    "HEAD",    "POST",  "PUT",     "PATCH",
                                                           "DELETE", "OPTIONS", "TRACE", "CONNECT", ""};
static_assert(static_cast<std::size_t>(Method::other) + 1 == kMethodNames.size());

}  // namespace

std::string_view name(Method method) {
  return kMethodNames[static_cast<std::size_t>(method)];
}

Method parse_method(std::string_view text) {
  const auto* const found = std::find(kMethodNames.begin(), kMethodNames.end() - 1, text);
  return static_cast<Method>(found - kMethodNames.begin());
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

bool is_field_value(std::string_view text) {
  const char* const end = text.data() + text.size();
  return find_control(text.data(), end) == end;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 425:
      return "Too Early";
    case 426:
      return "Upgrade Required";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return {};
  }
}

std::optional<std::string_view> ListMembers::next() {
  while (!rest_.empty()) {
    const auto comma = rest_.find(',');
    const auto member = trim(rest_.substr(0, comma));
    rest_.remove_prefix(comma == std::string_view::npos ? rest_.size() : comma + 1);
    if (!member.empty()) return member;
  }
  return std::nullopt;
}

bool Headers::same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && iequals(a, b);
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const HeaderView& field : fields_) {
    if (same_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

void Headers::rebase(const char* from, const char* to) {
  for (HeaderView& field : fields_) {
    field.name = {to + (field.name.data() - from), field.name.size()};
    field.value = {to + (field.value.data() - from), field.value.size()};
  }
}

std::vector<std::string_view> Headers::find_all(std::string_view name) const {
  std::vector<std::string_view> values;
  for_each(name, [&](std::string_view value) { values.push_back(value); });
  return values;
}

bool Headers::list_contains(std::string_view name, std::string_view member) const {
  bool found = false;
  for_each(name, [&](std::string_view value) {
    ListMembers members(value);
    while (const auto item = members.next()) found |= iequals(*item, member);
  });
  return found;
}

}  // namespace plimsoll::http
