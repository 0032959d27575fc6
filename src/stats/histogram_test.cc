#include "stats/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "stats/percentile.h"

namespace plimsoll::stats {
namespace {

// Values over all magnitudes from 1 ns to about 18 minutes, many of them equal.
std::vector<std::uint64_t> random_values(Random& random, std::size_t n) {
  std::vector<std::uint64_t> values;
  while (values.size() < n) {
    const std::uint64_t value = random.next() >> (24 + random.below(39));
    values.insert(values.end(), 1 + random.below(3), value);
  }
  return values;
}

TEST(Histogram, EmptyIsAllZero) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.min(), 0U);
  EXPECT_EQ(h.max(), 0U);
  EXPECT_EQ(h.mean(), 0);
  EXPECT_EQ(h.stddev(), 0);
  EXPECT_EQ(h.percentile(0.5), 0U);
}

TEST(Histogram, OneValueIsEveryPercentileExactly) {
  Histogram h;
  h.record(123'456'789);
  for (const double p : {0.0, 0.5, 0.99, 1.0}) EXPECT_EQ(h.percentile(p), 123'456'789U);
  EXPECT_EQ(h.stddev(), 0);
}

TEST(Histogram, BucketsTileTheRangeWithoutGapOrOverlap) {
  for (const int digits : {0, 1, 2, 3}) {
    for (const std::uint64_t lowest : {1U, 7U, 1000U}) {
      const Histogram h(lowest, Histogram::kHighest, digits);
      EXPECT_EQ(h.bucket_low(0), 0U);
      for (std::size_t i = 0; i < h.buckets(); ++i) {
        ASSERT_EQ(h.bucket_of(h.bucket_low(i)), i);
        ASSERT_EQ(h.bucket_of(h.bucket_high(i)), i);
        if (i + 1 < h.buckets()) {
          ASSERT_EQ(h.bucket_high(i) + 1, h.bucket_low(i + 1));
        }
      }
      EXPECT_GE(h.limit(), h.highest());
    }
  }
}

TEST(Histogram, KeepsThreeDigitsFromAMicrosecondToAnHour) {
  const Histogram h;
  for (std::uint64_t value = 1'000; value <= 3'600'000'000'000; value += value / 3) {
    const std::size_t bucket = h.bucket_of(value);
    const double width = static_cast<double>(h.bucket_high(bucket) - h.bucket_low(bucket) + 1);
    EXPECT_LE(width / static_cast<double>(value), 1e-3) << value;
  }
}

TEST(Histogram, CountsWhatIsBeyondTheLastBucket) {
  Histogram h;
  h.record(1'000, 98);
  h.record(5'000'000'000'000);
  h.record(9'000'000'000'000);
  EXPECT_EQ(h.overflowed(), 2U);
  EXPECT_EQ(h.count(), 100U);
  EXPECT_EQ(h.percentile(0.98), 1'000U);
  EXPECT_EQ(h.percentile(0.99), 9'000'000'000'000U);
  EXPECT_EQ(h.max(), 9'000'000'000'000U);
  const auto back = Histogram::decode_v2(h.encode_v2());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->count(), 100U);
  EXPECT_EQ(back->count_at(back->buckets() - 1), 2U);
  h.reset();
  EXPECT_EQ(h.count_up_to(UINT64_MAX), 0U);
  EXPECT_EQ(h.overflowed(), 0U);
}

TEST(Histogram, AgreesWithSortedSamples) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    auto values = random_values(random, 1 + random.below(3000));
    Histogram h;
    for (const auto value : values) h.record(value);
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (const auto value : values) sum += static_cast<double>(value);
    const double mean = sum / static_cast<double>(values.size());
    double squares = 0;
    for (const auto value : values) squares += std::pow(static_cast<double>(value) - mean, 2);

    EXPECT_EQ(h.count(), values.size());
    EXPECT_EQ(h.min(), values.front());
    EXPECT_EQ(h.max(), values.back());
    EXPECT_NEAR(h.mean(), mean, mean * 1e-9);
    EXPECT_NEAR(h.stddev(), std::sqrt(squares / static_cast<double>(values.size())), mean * 1e-6);
    for (const double p : {0.0, 0.001, 0.07, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0}) {
      const std::uint64_t exact = values[nearest_rank(values.size(), p)];
      const std::size_t bucket = h.bucket_of(exact);
      EXPECT_EQ(h.percentile(p), std::clamp(h.bucket_high(bucket), h.min(), h.max())) << "p " << p;
    }
  }
}

TEST(Histogram, MergingIsRecordingBoth) {
  for (std::uint64_t seed = 100; seed <= 110; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Histogram a;
    Histogram b;
    Histogram both;
    for (const auto value : random_values(random, 500)) {
      (random.below(2) == 0 ? a : b).record(value);
      both.record(value);
    }
    b.record(7'777'777'777'777);
    both.record(7'777'777'777'777);
    a.merge(b);
    EXPECT_EQ(a.encode_v2(), both.encode_v2());
    EXPECT_EQ(a.min(), both.min());
    EXPECT_EQ(a.max(), both.max());
    EXPECT_DOUBLE_EQ(a.mean(), both.mean());
    EXPECT_NEAR(a.stddev(), both.stddev(), both.stddev() * 1e-9);
  }
}

TEST(Histogram, MergesAnotherLayoutByItsValues) {
  Histogram coarse(1'000, Histogram::kHighest, 2);
  coarse.record(1'500'000, 10);
  coarse.record(9'000'000'000'000'000, 3);
  Histogram fine;
  fine.record(2'000);
  fine.merge(coarse);
  EXPECT_EQ(fine.count(), 14U);
  EXPECT_EQ(fine.overflowed(), 3U);
  EXPECT_EQ(fine.min(), 2'000U);
  EXPECT_EQ(fine.max(), 9'000'000'000'000'000U);
  EXPECT_NEAR(static_cast<double>(fine.percentile(0.5)), 1.5e6, 1.5e4);
}

TEST(Histogram, ResetForgetsEverything) {
  Random random(5);
  Histogram h;
  for (const auto value : random_values(random, 2000)) h.record(value);
  h.reset();
  EXPECT_EQ(h.encode_v2(), Histogram().encode_v2());
  h.record(42);
  EXPECT_EQ(h.percentile(1), 42U);
  EXPECT_EQ(h.min(), 42U);
}

TEST(Histogram, CountsUpToAValue) {
  Histogram h;
  for (std::uint64_t i = 1; i <= 1000; ++i) h.record(i);
  EXPECT_EQ(h.count_up_to(0), 0U);
  EXPECT_EQ(h.count_up_to(1), 1U);
  EXPECT_EQ(h.count_up_to(700), 700U);
  EXPECT_EQ(h.count_up_to(1'000'000), 1000U);
}

}  // namespace
}  // namespace plimsoll::stats
