#include "oci/spec_error.h"

#include "base/text.h"
#include "oci/json.h"

namespace plimsoll::oci {
namespace {

constexpr std::size_t kMaxMessage = 256;

// One line that a terminal can show: runs of space and control characters become one space. Cut between characters.
std::string printable(std::string_view text) {
  std::string out;
  bool gap = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f) {
      gap = !out.empty();
      continue;
    }
    if (gap) out += ' ';
    gap = false;
    out += c;
    if (out.size() > kMaxMessage) break;
  }
  if (out.size() <= kMaxMessage) return out;
  std::size_t end = kMaxMessage;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0U) == 0x80U) --end;
  out.resize(end);
  return out;
}

std::string first_text(const nlohmann::json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (auto text = text_member(object, key); !text.empty()) return text;
  }
  return {};
}

SpecError read_json(const nlohmann::json& body) {
  SpecError error;
  const nlohmann::json* said = &body;
  const auto& errors = member(body, "errors");
  if (errors.is_array() && !errors.empty() && errors.front().is_object()) {
    said = &errors.front();
    error.standard = member(*said, "code").is_string();
  } else if (errors.is_array() && !errors.empty() && errors.front().is_string()) {
    error.message = printable(errors.front().get_ref<const std::string&>());
    return error;
  } else if (const auto& one = member(body, "error"); one.is_object()) {
    said = &one;
  }
  error.code = printable(first_text(*said, {"code", "error", "status"}));
  error.message =
      printable(first_text(*said, {"message", "error_description", "details", "detail", "errors", "title"}));
  return error;
}

// The text of <title>, of a page that some proxy put in place of the registry's answer.
std::string html_title(std::string_view body) {
  const std::string lower = to_lower(body);
  const auto open = lower.find("<title");
  if (open == std::string::npos) return {};
  const auto begin = lower.find('>', open);
  const auto end = lower.find("</title", open);
  if (begin == std::string::npos || end == std::string::npos || begin >= end) return {};
  return printable(body.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::string SpecError::text() const {
  if (code.empty()) return message;
  return message.empty() ? code : code + ": " + message;
}

SpecError parse_spec_error(std::string_view body) {
  body = body.substr(0, kMaxErrorBody);
  if (const auto parsed = parse_json(body); parsed && parsed->is_object()) return read_json(*parsed);
  SpecError error;
  error.message = html_title(body);
  if (error.message.empty()) error.message = printable(body);
  return error;
}

}  // namespace plimsoll::oci
