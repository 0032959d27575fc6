#include "report/csv.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

TEST(CsvField, QuotesWhatMustBeQuoted) {
  EXPECT_EQ(csv_field("a b"), "a b");
  EXPECT_EQ(csv_field("20% 1MB, 70% 10MB"), "\"20% 1MB, 70% 10MB\"");
  EXPECT_EQ(csv_field("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
}

TEST(Csv, Golden) {
  test::expect_golden("record.csv", csv(test::example_record()));
}

TEST(Csv, EveryRowHasEveryColumn) {
  const std::string text = csv(test::example_record());
  const auto lines = split(std::string_view(text).substr(0, text.size() - 1), '\n');
  ASSERT_EQ(lines.size(), 3U);
  const auto columns = std::ranges::count(lines[0], ',');
  EXPECT_GT(columns, 150);
  for (const std::string_view line : lines) EXPECT_EQ(std::ranges::count(line, ','), columns);
}

TEST(Csv, WhatWasNotMeasuredIsEmptyNotZero) {
  stats::Record record;
  record.tests.resize(1);
  const std::string text = csv(record);
  const auto lines = split(text, '\n');
  const auto header = split(lines[0], ',');
  const auto row = split(lines[1], ',');
  const auto p99 = std::ranges::find(header, "p99_s") - header.begin();
  const auto failed = std::ranges::find(header, "failed") - header.begin();
  EXPECT_EQ(row[static_cast<std::size_t>(p99)], "");
  EXPECT_EQ(row[static_cast<std::size_t>(failed)], "0");
}

}  // namespace
}  // namespace plimsoll::report
