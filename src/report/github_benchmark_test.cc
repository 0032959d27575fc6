#include "report/github_benchmark.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

TEST(GithubBenchmark, Golden) {
  test::expect_golden("bench-bigger.json", bench_bigger(test::example_record()));
  test::expect_golden("bench-smaller.json", bench_smaller(test::example_record()));
}

TEST(GithubBenchmark, RepeatsBecomeOneEntryWithTheirSpread) {
  stats::Record record;
  for (const double rate : {90.0, 110.0, 100.0}) {
    record.tests.push_back(test::example_push());
    record.tests.back().rate_per_s = rate;
    record.tests.back().repeat = static_cast<int>(record.tests.size());
  }
  const auto entries = nlohmann::json::parse(bench_bigger(record));
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0]["name"], "Push Monolith 1MB rate");
  EXPECT_EQ(entries[0]["value"], 100);
  EXPECT_EQ(entries[0]["range"], "± 10");
}

TEST(GithubBenchmark, NamesHoldWhatTellsTestsApartAndNoMore) {
  stats::Record record;
  record.tests = {test::example_push(), test::example_push(), test::example_push()};
  record.tests[1].concurrency = 8;
  record.tests[2].target = "other";
  const auto entries = nlohmann::json::parse(bench_smaller(record));
  EXPECT_EQ(entries[0]["name"], "registry Push Monolith 1MB c=2 p50");
  EXPECT_EQ(entries[4]["name"], "registry Push Monolith 1MB c=8 p50");
  EXPECT_EQ(entries[8]["name"], "other Push Monolith 1MB c=2 p50");
}

TEST(GithubBenchmark, LeavesOutWhatWasNotMeasured) {
  stats::Record record;
  record.tests.resize(1);
  EXPECT_EQ(bench_smaller(record), "[]\n");
}

}  // namespace
}  // namespace plimsoll::report
