#include "report/markdown.h"

#include <gtest/gtest.h>

#include "report/closing.h"
#include "report/environment_table.h"
#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

TEST(Markdown, Golden) {
  test::expect_golden("record.md", markdown(test::example_record()));
}

TEST(Markdown, ForeignTextIsNoMarkup) {
  EXPECT_EQ(markdown_text("<img> **x** [a](b) `c` | \n@me"),
            "&lt;img&gt; \\*\\*x\\*\\* \\[a\\](b) \\`c\\` \\| \\\\x0a\\@me");
}

TEST(Markdown, TablesAlignFiguresRight) {
  EXPECT_EQ(markdown_table({"a", "b"}, {{"x", "1"}}), "| a | b |\n|---|---:|\n| x | 1 |\n");
}

TEST(Environment, HasAColumnAMachine) {
  stats::Record record = test::example_record();
  stats::Environment registry;
  registry.role = "registry";
  registry.host = "reg-1";
  registry.kernel = "6.6.1";
  registry.versions = {{"distribution", "2.8.2"}};
  record.machines = {registry};
  const EnvironmentTable table = hardware(record);
  EXPECT_EQ(table.machines, (std::vector<std::string>{"", "generator (gen-1)", "registry (reg-1)"}));
  EXPECT_EQ(table.rows[2], (std::vector<std::string>{"kernel", "6.1.0", "6.6.1"}));
  EXPECT_EQ(versions(record).rows[0], (std::vector<std::string>{"distribution", "", "2.8.2"}));
}

TEST(Environment, SaysTheDataSize) {
  stats::Record record = test::example_record();
  EXPECT_EQ(environment_markdown(record).find("DATA_SIZE"), std::string::npos);
  for (stats::TestRecord& test : record.tests) test.details["data_size"] = "206096395";
  EXPECT_NE(environment_markdown(record).find("DATA_SIZE: 206 MB\n"), std::string::npos);
}

TEST(Closing, Golden) {
  test::expect_golden("closing.txt", closing_lines(test::example_record()));
}

TEST(Closing, SaysThatTheRunWasInterrupted) {
  stats::Record record;
  record.interrupted = true;
  EXPECT_EQ(closing_lines(record),
            "============\nSeed:        0\nInterrupted: these are the figures up to then\n");
}

}  // namespace
}  // namespace plimsoll::report
