#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/text.h"
#include "workload/http_load.h"

namespace plimsoll::workload {
namespace {

Refusal bad_line(std::size_t number, std::string_view why) {
  return {fmt::format("line {} of the file of requests: {}", number, why)};
}

Checked<HttpRequestTemplate> parse_first_line(std::string_view line, std::size_t number) {
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return bad_line(number, "expected 'METHOD URL'");
  HttpRequestTemplate request;
  request.method = line.substr(0, space);
  if (!http::is_token(request.method))
    return bad_line(number, fmt::format("'{}' is not a method", request.method));
  auto url = http::parse_url(trim(line.substr(space)));
  if (!url) return bad_line(number, fmt::format("'{}': {}", trim(line.substr(space)), url.error().text));
  request.url = std::move(*url);
  return request;
}

}  // namespace

Checked<std::vector<HttpRequestTemplate>> parse_requests(std::string_view text, const std::string& folder) {
  std::vector<HttpRequestTemplate> requests;
  bool in_request = false;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('#')) continue;
    if (trim(line).empty()) {
      in_request = false;
      continue;
    }
    const auto colon = line.find(':');
    const bool is_header =
        in_request && colon != std::string_view::npos && http::is_token(line.substr(0, colon));
    if (in_request && line.starts_with('@')) {
      const std::string path =
          line.starts_with("@/") ? std::string(line.substr(1)) : folder + "/" + std::string(line.substr(1));
      std::ifstream file(path, std::ios::binary);
      if (!file) return bad_line(number, fmt::format("cannot read '{}'", path));
      requests.back().body.assign(std::istreambuf_iterator<char>(file), {});
      requests.back().has_body = true;
      in_request = false;
    } else if (is_header) {
      const std::string_view value = trim(line.substr(colon + 1));
      if (!http::is_field_value(value)) return bad_line(number, "a control character in a header");
      requests.back().headers.emplace_back(line.substr(0, colon), value);
    } else {
      auto request = parse_first_line(line, number);
      if (!request) return request.error();
      requests.push_back(std::move(*request));
      in_request = true;
    }
  }
  if (requests.empty()) return Refusal{"the file of requests holds none: expected lines 'METHOD URL'"};
  return requests;
}

}  // namespace plimsoll::workload
