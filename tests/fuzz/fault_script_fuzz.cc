// server::FaultScript: a rule that is accepted is one rule within its limits, and puts no line into an answer's head.
#include <cstdint>
#include <string>

#include "http/message.h"
#include "server/faults.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

void check(const server::FaultRule& rule) {
  expect(rule.share >= 0 && rule.share <= 1 && rule.every > 0, "conditions can hold");
  for (const auto& status : {rule.status, rule.as_status})
    expect(!status || (*status >= 200 && *status <= 599), "a status is a final one");
  for (const auto& [name, value] : rule.headers)
    expect(http::is_token(name) && http::is_field_value(value), "a header");
  if (rule.latency) expect(rule.latency->low <= rule.latency->high, "latencies are in order");
  for (const std::string* text : {&rule.retry_after, &rule.location, &rule.link, &rule.redirect})
    expect(http::is_field_value(*text), "a value");
}

void run(std::string_view input) {
  // "@" names a file.
  if (input.starts_with('@')) return;
  const auto script = server::FaultScript::parse({std::string(input)}, 1);
  if (!script) {
    expect(!script.error().message.empty(), "a refusal says why");
    return;
  }
  expect(script->rules().size() == 1, "a text is one rule");
  check(script->rules().front());
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
