// workload::parse_requests: what is accepted can be sent as it stands, and adds no line to the head that it is put in.
#include <cstdint>
#include <string>

#include "http/message.h"
#include "tests/fuzz/expect.h"
#include "workload/http_load.h"

namespace plimsoll::fuzz {
namespace {

void run(std::string_view input) {
  // Bodies are read from files, which are not what is looked for here.
  if (input.contains("@/")) return;
  const auto requests = workload::parse_requests(input, "/nonexistent");
  if (!requests) {
    expect(!requests.error().message.empty() && !requests.error().message.contains('\n'),
           "a refusal is one line");
    return;
  }
  expect(!requests->empty(), "a file without a request is refused");
  for (const auto& request : *requests) {
    expect(http::is_token(request.method), "a method");
    expect(!request.url.host.empty() && request.url.port != 0, "a URL");
    expect(request.url.target.starts_with('/') && http::is_field_value(request.url.target), "a target");
    for (const auto& [name, value] : request.headers)
      expect(http::is_token(name) && http::is_field_value(value), "a header");
    expect(!request.has_body && request.body.empty(), "no body without its file");
  }
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
