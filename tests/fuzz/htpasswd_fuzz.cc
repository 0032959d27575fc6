// server::Htpasswd and parse_basic: read or refused in one line; nobody is let in who was not verified.
#include <cstdint>
#include <string>

#include "server/htpasswd.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

void run(std::string_view input) {
  const auto credentials = server::parse_basic(input);
  if (credentials) expect(!credentials->user.contains(':'), "the user ends at the first colon");
  const auto users = server::Htpasswd::parse(input);
  if (!users) {
    expect(!users.error().message.empty() && !users.error().message.contains('\n'), "a refusal is one line");
    return;
  }
  expect(!users->remembers({.user = "ann", .password = "secret"}),
         "nobody is known before a password was tried");
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
