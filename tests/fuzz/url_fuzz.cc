// http::parse_url and http::resolve: a URL that is accepted can be put into a request, reads back as itself, and so does
// what any reference makes of it.
//
// An input is a URL, a line feed, and a reference.
#include <algorithm>
#include <cstdint>
#include <string>

#include "http/render.h"
#include "http/url.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

void check(const http::Url& url) {
  expect(url.port != 0 && !url.host.empty() && url.target.starts_with('/'), "nothing is missing");
  expect(!url.target.contains('#'), "a fragment is not sent");
  std::string request;
  expect(http::render_request(request, {.target = url.target, .host = url.authority(), .headers = {}})
             .has_value(),
         "it can be asked for");
  expect(std::ranges::count(request, '\n') == 3, "and adds no line");
  const auto again = http::parse_url(url.text());
  expect(again.has_value(), "it reads back");
  http::Url without_zone = url;
  without_zone.zone.clear();
  expect(*again == without_zone, "as itself");
  const auto more = http::append_query(url, "digest=sha256:ab");
  expect(more.target.starts_with(url.target) && more.query().ends_with("digest=sha256:ab"),
         "a parameter is added");
}

void run(std::string_view input) {
  const auto end = input.find('\n');
  const auto reference = end == std::string_view::npos ? std::string_view() : input.substr(end + 1);
  const auto url = http::parse_url(input.substr(0, end));
  if (!url) return;
  check(*url);
  auto resolved = http::resolve(*url, reference);
  if (!resolved) return;
  check(*resolved);
  resolved->zone.clear();  // it is in no text
  const auto again = http::parse_url(resolved->text());
  expect(again.has_value() && again->same_origin(*resolved), "what was resolved stays on its origin");
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
