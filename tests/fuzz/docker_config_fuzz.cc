// oci::DockerConfig and the forms that credentials come in: read or refused in one line, without asking any helper.
#include <cstdint>
#include <string>

#include "oci/credentials.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

void run(std::string_view input) {
  if (const auto config = oci::DockerConfig::parse(input); !config) {
    expect(!config.error().message.empty() && !config.error().message.contains('\n'),
           "a refusal is one line");
  }
  const auto credentials = oci::parse_credentials(input);
  if (!credentials) return;
  const auto colon = input.find(':');
  expect(credentials->user == input.substr(0, colon), "the user ends at the first colon");
  expect(credentials->basic().starts_with("Basic "), "and makes a field");
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
