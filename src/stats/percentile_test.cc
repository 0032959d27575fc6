#include "stats/percentile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace plimsoll::stats {
namespace {

using Names = std::vector<std::string>;

TEST(NearestRank, IsTheSmallestWithEnoughBelow) {
  EXPECT_EQ(nearest_rank(1, 0.5), 0U);
  EXPECT_EQ(nearest_rank(2, 0.5), 0U);
  EXPECT_EQ(nearest_rank(10, 0.5), 4U);
  EXPECT_EQ(nearest_rank(10, 0.9), 8U);
  EXPECT_EQ(nearest_rank(10, 0.99), 9U);
  EXPECT_EQ(nearest_rank(100, 0.07), 6U);  // 0.07 * 100 is 7.000000000000001 in binary
  EXPECT_EQ(nearest_rank(100, 0.0), 0U);
  EXPECT_EQ(nearest_rank(100, 1.0), 99U);
  EXPECT_EQ(nearest_rank(10'000'000, 0.9999), 9'998'999U);
}

TEST(NearestRank, AgreesWithIntegerArithmetic) {
  for (std::uint64_t n = 1; n <= 2000; ++n) {
    for (const auto& named : summary_percentiles()) {
      const auto per = static_cast<std::uint64_t>(named.per_ten_thousand);
      EXPECT_EQ(nearest_rank(n, named.per_ten_thousand / 10'000.0), (n * per + 9'999) / 10'000 - 1)
          << n << named.name;
    }
  }
}

TEST(PercentileLinear, IsNumpysLinear) {
  const std::vector<double> four = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(percentile_linear(four, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(percentile_linear(four, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile_linear(four, 0), 1);
  EXPECT_DOUBLE_EQ(percentile_linear(four, 1), 4);
  EXPECT_DOUBLE_EQ(percentile_linear(std::vector<double>{7.5}, 0.9), 7.5);
  EXPECT_DOUBLE_EQ(percentile_linear({}, 0.9), 0);
}

TEST(Summarize, GivesExactFiguresOfSamples) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 100; i >= 1; --i) samples.push_back(i * 1'000'000);
  const auto summary = summarize(samples);
  EXPECT_EQ(summary.count, 100U);
  EXPECT_DOUBLE_EQ(summary.min, 0.001);
  EXPECT_DOUBLE_EQ(summary.max, 0.1);
  EXPECT_DOUBLE_EQ(summary.mean, 0.0505);
  EXPECT_NEAR(summary.stddev, std::sqrt((100.0 * 100 - 1) / 12) / 1000, 1e-12);
  EXPECT_DOUBLE_EQ(summary.p50, 0.05);
  EXPECT_DOUBLE_EQ(summary.p66, 0.066);
  EXPECT_DOUBLE_EQ(summary.p99, 0.099);
  EXPECT_DOUBLE_EQ(summary.p999, 0.1);
  EXPECT_EQ(summary.unsupported, (Names{"p99.9", "p99.99"}));
}

TEST(Summarize, NamesWhatTooFewSamplesCannotTell) {
  std::vector<std::int64_t> ten(10, 5);
  EXPECT_EQ(summarize(ten).unsupported, (Names{"p95", "p98", "p99", "p99.9", "p99.99"}));
  std::vector<std::int64_t> one = {5};
  EXPECT_EQ(summarize(one).unsupported.size(), 10U);
  EXPECT_FALSE(is_unsupported(1'000, 9'990));
  EXPECT_TRUE(is_unsupported(999, 9'990));
  EXPECT_FALSE(is_unsupported(10'000, 9'999));
  std::vector<std::int64_t> none;
  EXPECT_TRUE(summarize(none).unsupported.empty());
}

TEST(Summarize, OfAHistogramIsWithinItsResolution) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<std::int64_t> samples;
    Histogram h;
    for (int i = 0; i < 5000; ++i) {
      const auto value = static_cast<std::int64_t>(random.exponential() * 3e6);
      samples.push_back(value);
      h.record(static_cast<std::uint64_t>(value));
    }
    const auto exact = summarize(samples);
    const auto near = summarize(h);
    EXPECT_EQ(near.count, exact.count);
    EXPECT_EQ(near.min, exact.min);
    EXPECT_EQ(near.max, exact.max);
    EXPECT_NEAR(near.mean, exact.mean, exact.mean * 1e-12);
    EXPECT_NEAR(near.stddev, exact.stddev, exact.stddev * 1e-9);
    EXPECT_EQ(near.unsupported, exact.unsupported);
    for (const auto& named : summary_percentiles()) {
      EXPECT_NEAR(near.*named.member, exact.*named.member, exact.*named.member * 1e-3) << named.name;
    }
  }
}

}  // namespace
}  // namespace plimsoll::stats
