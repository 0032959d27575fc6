// Golden files: what a renderer printed once, read by a person, and must print again.
//
// With PLIMSOLL_UPDATE_GOLDEN set in the environment the files are written instead of compared; the
// difference is then reviewed as any other change.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/paths.h"

namespace plimsoll::test {

inline void expect_golden(std::string_view name, std::string_view text) {
  const std::filesystem::path path = source_dir() / "tests/golden" / name;
  if (std::getenv("PLIMSOLL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.is_open()) << path;
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, expected) << "differs from " << path;
}

}  // namespace plimsoll::test
