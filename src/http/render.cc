#include "http/render.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "http/chars.h"

namespace plimsoll::http {
namespace {

Error unsendable(const char* text) {
  return {ErrorKind::protocol, 0, text};
}

void append_number(std::string& out, std::uint64_t value, int base = 10) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  out.append(digits.data(), end);
}

Result<void> append_field(std::string& out, const HeaderView& field) {
  if (!is_token(field.name)) return unsendable("a header field's name is letters, digits and hyphens");
  if (!is_field_value(field.value)) return unsendable("a control character in a header field's value");
  out.append(field.name).append(": ").append(field.value).append("\r\n");
  return ok();
}

// The fields, the framing and the blank line.
template <class Outgoing>
Result<void> append_rest(std::string& out, const Outgoing& message) {
  if (message.chunked && message.content_length) return unsendable("a body is chunked or has a length");
  for (const HeaderView& field : message.headers) {
    if (auto appended = append_field(out, field); !appended) return appended;
  }
  if (message.content_length) {
    out.append("Content-Length: ");
    append_number(out, *message.content_length);
    out.append("\r\n");
  }
  if (message.chunked) out.append("Transfer-Encoding: chunked\r\n");
  out.append("\r\n");
  return ok();
}

Result<void> append_request(std::string& out, const OutgoingRequest& request) {
  const auto sendable = [](char c) { return c != ' ' && c != '\t' && !is_control(c); };
  if (!is_token(request.method)) return unsendable("a method is one word");
  if (request.target.empty() || !std::ranges::all_of(request.target, sendable)) {
    return unsendable("a request target has no spaces and no control characters");
  }
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  const auto is_host = [](const HeaderView& field) {
    return field.name.size() == 4 && iequals(field.name, "host");
  };
  if (std::ranges::none_of(request.headers, is_host)) {
    if (auto host = append_field(out, {"Host", request.host}); !host) return host;
  }
  return append_rest(out, request);
}

Result<void> append_response(std::string& out, const OutgoingResponse& response) {
  if (response.status < 100 || response.status > 999)
    return unsendable("a status is a number from 100 to 999");
  if (!is_field_value(response.reason)) return unsendable("a control character in a reason phrase");
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(response.status));
  out.append(" ")
      .append(response.reason.empty() ? reason_phrase(response.status) : response.reason)
      .append("\r\n");
  if (response.close) {
    out.append("Connection: close\r\n");
  } else if (response.keep_alive) {
    out.append("Connection: keep-alive\r\n");
  }
  return append_rest(out, response);
}

Result<void> whole_or_nothing(std::string& out, std::size_t before, Result<void> appended) {
  if (!appended) out.resize(before);
  return appended;
}

}  // namespace

Result<void> render_request(std::string& out, const OutgoingRequest& request) {
  const auto before = out.size();
  return whole_or_nothing(out, before, append_request(out, request));
}

Result<void> render_response(std::string& out, const OutgoingResponse& response) {
  const auto before = out.size();
  return whole_or_nothing(out, before, append_response(out, response));
}

void append_chunk_head(std::string& out, std::uint64_t size) {
  append_number(out, size, 16);
  out.append("\r\n");
}

}  // namespace plimsoll::http
