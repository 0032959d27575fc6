// What a fuzz target demands of what it found: said, and then a trap that the fuzzer reports with the input.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <source_location>
#include <string_view>

namespace plimsoll::fuzz {

inline void expect(bool holds, std::string_view what,
                   std::source_location where = std::source_location::current()) {
  if (holds) return;
  fmt::print(stderr, "{}:{}: does not hold: {}\n", where.file_name(), where.line(), what);
  __builtin_trap();
}

}  // namespace plimsoll::fuzz
