#include "stats/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "stats/percentile.h"

namespace plimsoll::stats {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{Nanos(1'000'000'000'123)};

TEST(Series, CountsPerSecond) {
  Series series;
  series.reset(kStart);
  series.good(kStart + 100ms, 1ms);
  series.good(kStart + 999ms, 3ms);
  series.failed(kStart + 1s);  // ends with the first second
  series.failed(kStart + 1s + 1ns);
  series.good(kStart + 3500ms, 7ms);
  const auto points = series.points(kStart + 5s);
  ASSERT_EQ(points.size(), 5U);
  EXPECT_EQ(points[0].ok, 2U);
  EXPECT_NEAR(points[0].p50_s, 0.00100352, 1e-8) << "two significant digits of 1 ms, upwards";
  EXPECT_DOUBLE_EQ(points[0].p99_s, 0.003);
  EXPECT_EQ(points[0].failed, 1U);
  EXPECT_EQ(points[1].failed, 1U);
  EXPECT_EQ(points[1].p50_s, 0);
  EXPECT_EQ(points[2].ok + points[2].failed, 0U);
  EXPECT_EQ(points[3].ok, 1U);
  EXPECT_DOUBLE_EQ(points[3].p99_s, 0.007);
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i].t_s, static_cast<double>(i));
}

TEST(Series, SpreadsBytesOverTheSecondsTheyTook) {
  Series series;
  series.reset(kStart);
  series.bytes(kStart + 500ms, kStart + 2500ms, 2'000'000);
  const auto points = series.points(kStart + 3s);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_NEAR(static_cast<double>(points[0].bytes), 500'000, 1);
  EXPECT_NEAR(static_cast<double>(points[1].bytes), 1'000'000, 1);
  EXPECT_EQ(points[0].bytes + points[1].bytes + points[2].bytes, 2'000'000U);
}

TEST(Series, IsEmptyWithoutTime) {
  Series series;
  series.reset(kStart);
  EXPECT_TRUE(series.points(kStart).empty());
  EXPECT_EQ(series.points(kStart + 1ns).size(), 1U);
}

TEST(Series, KeepsItsMemoryBoundedByMergingPairs) {
  Series series;
  series.reset(kStart);
  constexpr int kSeconds = 10'000;
  for (int i = 0; i < kSeconds; ++i) {
    series.good(kStart + std::chrono::seconds(i) + 1ms, std::chrono::microseconds(i));
    series.bytes(kStart + std::chrono::seconds(i), kStart + std::chrono::seconds(i) + 1ms, 10);
  }
  EXPECT_EQ(series.width(), 4s);
  const auto points = series.points(kStart + std::chrono::seconds(kSeconds));
  ASSERT_EQ(points.size(), kSeconds / 4U);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(points[i].ok, 4U);
    ASSERT_EQ(points[i].bytes, 40U);
    ASSERT_EQ(points[i].t_s, 4.0 * static_cast<double>(i));
  }
}

TEST(Series, KeepsItsHistogramsBounded) {
  Series series;
  series.reset(kStart);
  Random random(3);
  for (int second = 0; second < 1500; ++second) {
    for (int i = 0; i < 800; ++i) {
      series.good(kStart + std::chrono::seconds(second), Nanos(random.next() >> (24 + random.below(30))));
    }
  }
  EXPECT_GE(series.width(), 2s);
  std::uint64_t all = 0;
  for (const auto& point : series.points(kStart)) all += point.ok;
  EXPECT_EQ(all, 1500U * 800U);
}

TEST(Series, MergedThreadsAreAsOne) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Series one;
    Series other;
    Series both;
    for (Series* series : {&one, &other, &both}) series->reset(kStart);
    Instant at = kStart;
    // The other thread ends early, so that the two reach different widths.
    for (int i = 0; i < 9000; ++i) {
      at += Nanos(random.below(2'000'000'000));
      const Nanos latency(static_cast<std::int64_t>(random.exponential() * 1e7));
      (i < 2000 && random.below(2) == 0 ? other : one).good(at, latency);
      both.good(at, latency);
    }
    Series merged;  // never reset: takes over the others' start
    merged.merge(other);
    merged.merge(one);
    EXPECT_EQ(merged.width(), both.width());
    const auto a = merged.points(at + 1s);
    const auto b = both.points(at + 1s);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].ok, b[i].ok) << i;
      ASSERT_EQ(a[i].p50_s, b[i].p50_s) << i;
      ASSERT_EQ(a[i].p99_s, b[i].p99_s) << i;
    }
  }
}

TEST(Series, PercentilesAreThoseOfTheSecond) {
  Random random(11);
  Series series;
  series.reset(kStart);
  std::map<int, std::vector<std::int64_t>> naive;
  for (int i = 0; i < 20'000; ++i) {
    const int ms = i / 4;
    const auto latency = static_cast<std::int64_t>(1e6 + random.exponential() * 5e6);
    series.good(kStart + std::chrono::milliseconds(ms), Nanos(latency));
    naive[ms / 1000].push_back(latency);
  }
  const auto points = series.points(kStart + 5s);
  ASSERT_EQ(points.size(), naive.size());
  for (auto& [second, samples] : naive) {
    std::sort(samples.begin(), samples.end());
    const auto& point = points[static_cast<std::size_t>(second)];
    EXPECT_NEAR(point.p50_s * 1e9, static_cast<double>(percentile(samples, 0.5)), point.p50_s * 1e7);
    EXPECT_NEAR(point.p99_s * 1e9, static_cast<double>(percentile(samples, 0.99)), point.p99_s * 1e7);
  }
}

TEST(Series, ShowsTheLastCompleteSecond) {
  Series series;
  series.reset(kStart);
  EXPECT_EQ(series.last_complete(kStart + 500ms).ok, 0U);
  series.good(kStart + 200ms, 4ms);
  series.good(kStart + 1200ms, 9ms);
  EXPECT_DOUBLE_EQ(series.last_complete(kStart + 1300ms).p50_s, 0.004);
  EXPECT_DOUBLE_EQ(series.last_complete(kStart + 2300ms).p50_s, 0.009)
      << "complete, though nothing came after it";
  EXPECT_EQ(series.last_complete(kStart + 3300ms).ok, 0U);
  Histogram latencies;
  series.add_last_complete(kStart + 1300ms, latencies);
  series.add_last_complete(kStart + 2300ms, latencies);
  series.add_last_complete(kStart + 9000ms, latencies);
  EXPECT_EQ(latencies.count(), 2U);
}

}  // namespace
}  // namespace plimsoll::stats
