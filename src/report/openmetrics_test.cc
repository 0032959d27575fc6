#include "report/openmetrics.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "stats/histogram.h"
#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

stats::Record with_histogram() {
  stats::Record record = test::example_record();
  stats::Histogram times;
  for (std::uint64_t i = 1; i <= 96; ++i) times.record(i * 1'000'000);
  record.tests[0].histograms["latency"] = times.encode_v2();
  return record;
}

TEST(OpenMetrics, Golden) {
  test::expect_golden("record.openmetrics", openmetrics(with_histogram()));
}

TEST(OpenMetrics, BucketsAreCumulativeAndEndInTheCount) {
  const std::string text = openmetrics(with_histogram());
  std::uint64_t last = 0;
  int buckets = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with("plimsoll_operation_duration_seconds_bucket")) continue;
    const auto count = parse_u64(line.substr(line.rfind(' ') + 1)).value();
    EXPECT_GE(count, last) << line;
    last = count;
    ++buckets;
  }
  EXPECT_EQ(buckets, 22);
  EXPECT_EQ(last, 96U);
  EXPECT_NE(text.find("le=\"0.01\"} 10\n"), std::string::npos);
}

TEST(OpenMetrics, EndsInItsEndMarkAndHoldsNoForeignLines) {
  stats::Record record = test::example_record();
  record.tests[0].name = "x\"} 1\n# EOF\\";
  const std::string text = openmetrics(record);
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  EXPECT_EQ(text.find("\n# EOF"), text.size() - 7);
  EXPECT_NE(text.find(R"(test="x\"} 1\\x0a# EOF\\")"), std::string::npos) << text;
}

}  // namespace
}  // namespace plimsoll::report
