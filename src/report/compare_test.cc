#include "report/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "report/campaign_table.h"
#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

double normal(Random& random) {
  return std::sqrt(2 * random.exponential()) * std::cos(2 * M_PI * random.uniform());
}

// A server of fixed latency: 10 ms with a scatter of 3%, and 0.4% from run to run.
struct Server {
  double latency_s = 0.010;
  double scatter = 0.03;
  double run_to_run = 0.004;
  int concurrency = 8;
  int seconds = 12;
};

stats::TestRecord run_of(const Server& server, Random& random) {
  const double here = server.latency_s * (1 + server.run_to_run * normal(random));
  stats::TestRecord test;
  test.name = "Pull 1MB";
  test.action = "pull";
  test.target = "registry";
  test.concurrency = server.concurrency;
  std::vector<double> all;
  for (int second = 0; second < server.seconds; ++second) {
    std::vector<double> times(static_cast<std::size_t>(server.concurrency / here));
    double sum = 0;
    for (double& time : times) {
      time = here * std::max(0.5, 1 + server.scatter * normal(random));
      sum += time;
    }
    std::ranges::sort(times);
    const auto n = times.size();
    test.series.push_back({static_cast<double>(second),
                           static_cast<std::uint64_t>(server.concurrency * static_cast<double>(n) / sum), 0,
                           0, times[n / 2], times[n * 99 / 100]});
    all.insert(all.end(), times.begin(), times.end());
  }
  std::ranges::sort(all);
  test.latency_s = test::example_times(all.size(), all.front(), 0);
  double sum = 0;
  for (const double time : all) sum += time;
  test.latency_s.mean = sum / static_cast<double>(all.size());
  test.latency_s.p50 = all[all.size() / 2];
  test.latency_s.p90 = all[all.size() * 9 / 10];
  test.latency_s.p99 = all[all.size() * 99 / 100];
  test.operations.ok = test.operations.started = all.size();
  test.phases_s.measure = server.seconds;
  test.rate_per_s = server.concurrency / test.latency_s.mean;
  return test;
}

CompareSide side_of(const char* name, const Server& server, int repeats, Random& random) {
  CompareSide side;
  side.name = name;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    side.records.emplace_back();
    side.records.back().tests.push_back(run_of(server, random));
    side.records.back().tests.back().repeat = repeat;
  }
  return side;
}

bool any_change(const Comparison& comparison) {
  return std::ranges::any_of(comparison.changes, [](const Change& change) { return change.significant; });
}

TEST(Compare, CriesWolfAtMostOnceInTwentyPairs) {
  for (const int repeats : {1, 3, 6}) {
    int cries = 0;
    for (unsigned pair = 0; pair < 20; ++pair) {
      Random random(pair * 31 + 7);
      const CompareSide base = side_of("base", {}, repeats, random);
      cries += any_change(compare(base, side_of("new", {}, repeats, random))) ? 1 : 0;
    }
    EXPECT_LE(cries, 1) << repeats << " repeats";
  }
}

// A machine that others use: runs differ by 3%, whatever their own blocks say.
TEST(Compare, CriesNoWolfWhereRunsDiffer) {
  for (const int repeats : {3, 6}) {
    int cries = 0;
    for (unsigned pair = 0; pair < 100; ++pair) {
      Random random(pair * 31 + 7);
      const Server server{.run_to_run = 0.03};
      const CompareSide base = side_of("base", server, repeats, random);
      cries += any_change(compare(base, side_of("new", server, repeats, random))) ? 1 : 0;
    }
    EXPECT_LE(cries, 5) << repeats << " repeats";
  }
}

TEST(Compare, FindsASlowdownOfTenPerCent) {
  for (const int repeats : {1, 3, 6}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      Random random(seed * 17 + 3);
      const CompareSide base = side_of("base", {}, repeats, random);
      const Comparison comparison = compare(base, side_of("new", {.latency_s = 0.011}, repeats, random));
      EXPECT_TRUE(comparison.any_worse()) << repeats << " repeats, seed " << seed;
      for (const Change& change : comparison.changes) {
        if (change.figure != "p50") continue;
        EXPECT_TRUE(change.is_worse()) << repeats << " repeats, seed " << seed;
        EXPECT_NEAR(change.change, 0.1, 0.02);
        EXPECT_LE(change.low, change.change);
        EXPECT_GE(change.high, change.change);
      }
    }
  }
}

TEST(Compare, AChangeBelowTheFloorIsNone) {
  Random random(5);
  const Server still{.latency_s = 0.010, .scatter = 0.001, .run_to_run = 0};
  const CompareSide base = side_of("base", still, 6, random);
  const Comparison comparison =
      compare(base, side_of("new", {.latency_s = 0.01015, .scatter = 0.001, .run_to_run = 0}, 6, random));
  EXPECT_FALSE(any_change(comparison)) << "1.5%, however certain";
}

TEST(Compare, RepeatsThatScatterAsMuchAreNoise) {
  Random random(9);
  const CompareSide base = side_of("base", {.latency_s = 0.010, .run_to_run = 0.1}, 3, random);
  CompareSide now = side_of("new", {.latency_s = 0.0105, .run_to_run = 0.1}, 3, random);
  now.records[0].tests[0] = base.records[0].tests[0];
  EXPECT_FALSE(any_change(compare(base, now)));
}

TEST(Compare, RawTimesServeAsBlocks) {
  const auto folder = [](double latency, unsigned seed) {
    Random random(seed);
    Campaign campaign;
    campaign.name = "lab";
    CampaignSeries series{"lab", "push", 4, 0, "f", {}, {}};
    for (std::uint32_t i = 1; i <= 1000; ++i) {
      series.iterations.push_back(i);
      series.seconds.push_back(latency * std::exp(0.1 * normal(random)));
    }
    campaign.series.push_back(std::move(series));
    CompareSide side;
    side.name = "folder";
    side.records.push_back(campaign_record(campaign));
    side.campaign = std::move(campaign);
    return side;
  };
  const Comparison comparison = compare(folder(1, 1), folder(1.1, 2));
  for (const Change& change : comparison.changes) {
    if (change.figure == "errors") continue;
    if (change.figure == "p99") {
      EXPECT_EQ(change.basis, "9 and 9 blocks") << "a hundred operations a block at least";
    } else {
      EXPECT_TRUE(change.is_worse()) << change.figure << " " << change.p_value << " " << change.change;
      EXPECT_EQ(change.basis, "10 and 10 blocks");
    }
  }
  EXPECT_FALSE(any_change(compare(folder(1, 3), folder(1, 4))));
}

TEST(Compare, ErrorsAreComparedAsADifference) {
  Random random(2);
  CompareSide base = side_of("base", {}, 1, random);
  CompareSide now = base;
  stats::TestRecord& test = now.records[0].tests[0];
  test.operations.failed = test.operations.ok / 20;
  for (stats::SeriesPoint& point : test.series) point.failed = point.ok / 20;
  const Comparison comparison = compare(base, now);
  for (const Change& change : comparison.changes) {
    if (change.figure != "errors") continue;
    EXPECT_TRUE(change.is_worse());
    EXPECT_NEAR(change.change, 0.0476, 0.001);
  }
}

// What no block tells (failures beside raw times) is judged by two to five repeats alone.
TEST(Compare, RepeatsAloneTellOfFailures) {
  Random random(8);
  CompareSide base = side_of("base", {.seconds = 3}, 3, random);
  CompareSide now = side_of("new", {.seconds = 3}, 3, random);
  for (std::size_t i = 0; i < 3; ++i) {
    for (CompareSide* side : {&base, &now}) side->records[i].tests[0].series.clear();
    stats::TestRecord& test = now.records[i].tests[0];
    test.operations.failed = test.operations.ok / (20 + i);
  }
  const Comparison comparison = compare(base, now);
  EXPECT_FALSE(evaluate(parse_change("errors > +1%").value(), comparison).at(0).pass);
  EXPECT_EQ(comparison.changes.at(1).basis, "3 and 3 repeats");
  EXPECT_FALSE(any_change(compare(base, base)));
}

TEST(Compare, RulesFailOnWhatIsMoreThanNoise) {
  Random random(4);
  const CompareSide base = side_of("base", {}, 6, random);
  const Comparison worse = compare(base, side_of("new", {.latency_s = 0.011}, 6, random));
  EXPECT_FALSE(evaluate(parse_change("p50 > +5%").value(), worse).at(0).pass);
  EXPECT_TRUE(evaluate(parse_change("p50 > +15%").value(), worse).at(0).pass);
  EXPECT_FALSE(evaluate(parse_change("Pull 1MB: rate < -5%").value(), worse).at(0).pass);
  EXPECT_NEAR(evaluate(parse_change("p50 > +5%").value(), worse).at(0).observed, 0.1, 0.02);
  EXPECT_FALSE(evaluate(parse_change("Push 1MB: p50 > +5%").value(), worse).at(0).pass)
      << "nothing to judge by";
  const Comparison same = compare(base, side_of("new", {}, 6, random));
  EXPECT_TRUE(evaluate(parse_change("p50 > +0%").value(), same).at(0).pass);
}

TEST(Compare, TablesGolden) {
  Random random(6);
  CompareSide base = side_of("base", {}, 6, random);
  CompareSide now = side_of("new", {.latency_s = 0.011}, 6, random);
  base.records[0].tests.push_back(test::example_push());
  const Comparison comparison = compare(base, now);
  test::expect_golden("compare.txt", compare_text(comparison));
  test::expect_golden("compare.md", compare_markdown(comparison));
}

}  // namespace
}  // namespace plimsoll::report
