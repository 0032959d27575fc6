#include "report/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <queue>

#include "base/random.h"
#include "report/campaign_table.h"
#include "report/scalability.h"
#include "report/series_findings.h"
#include "tests/support/example_record.h"
#include "tests/support/paths.h"

namespace plimsoll::report {
namespace {

constexpr unsigned kSeeds = 150;

double normal(Random& random) {
  return std::sqrt(2 * random.exponential()) * std::cos(2 * M_PI * random.uniform());
}

// A time with the median 1 and the given scatter of its logarithm.
double scattered(Random& random, double sigma) {
  return std::exp(sigma * normal(random));
}

using Times = std::vector<double>;
using Make = std::function<Times(Random&)>;

Times scatter(Random& random, double sigma, std::size_t n = 1000) {
  Times times(n);
  for (double& time : times) time = scattered(random, sigma);
  return times;
}

// In how many of kSeeds runs `found` says yes.
int raised(const std::function<bool(Random&)>& found) {
  int count = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed * 7919);
    count += found(random) ? 1 : 0;
  }
  return count;
}

// Found where the effect is in at least 95%, raised where it is not in at most 2% of the seeds.
void expect_found(const std::function<bool(Random&)>& found) {
  EXPECT_GE(raised(found), kSeeds * 0.95);
}
void expect_silent(const std::function<bool(Random&)>& found) {
  EXPECT_LE(raised(found), kSeeds * 0.02);
}

// Scatter without any effect: narrow, wide, exponential, normal, two to a clock tick.
std::vector<Make> nothing() {
  return {[](Random& r) { return scatter(r, 0.05); },
          [](Random& r) { return scatter(r, 0.5); },
          [](Random& r) {
            Times times(1000);
            for (double& t : times) t = 0.01 + r.exponential();
            return times;
          },
          [](Random& r) {
            Times times(300);
            for (double& t : times) t = std::max(0.1, 1 + 0.2 * normal(r));
            return times;
          },
          [](Random& r) {
            Times times(1000);
            for (double& t : times) t = std::round(scattered(r, 0.2) * 20) / 20;
            return times;
          },
          [](Random& r) {
            Times times(1000);
            for (double& t : times) t = 1 + r.uniform();
            return times;
          }};
}

TEST(Findings, DriftIsFoundAndNotImagined) {
  for (const double change : {0.2, -0.2}) {
    expect_found([&](Random& r) {
      Times times = scatter(r, 0.15);
      for (std::size_t i = 0; i < times.size(); ++i) times[i] *= 1 + change * static_cast<double>(i) / 1000;
      const auto drift = find_drift(times);
      return drift && drift->change * change > 0 && drift->low <= drift->change &&
             drift->change <= drift->high;
    });
  }
  for (const Make& make : nothing())
    expect_silent([&](Random& r) { return find_drift(make(r)).has_value(); });
}

TEST(Findings, WarmUpIsFoundAndNotImagined) {
  for (const std::size_t cold : {20U, 60U}) {
    expect_found([&](Random& r) {
      Times times = scatter(r, 0.2);
      for (std::size_t i = 0; i < cold; ++i) times[i] *= 2;
      const auto warm = find_warm_up(times);
      return warm && warm->ratio > 1.5;
    });
  }
  for (const Make& make : nothing())
    expect_silent([&](Random& r) { return find_warm_up(make(r)).has_value(); });
}

TEST(Findings, OutliersAreFoundAndNotImagined) {
  expect_found([](Random& r) {
    Times times = scatter(r, 0.2);
    for (int i = 0; i < 4; ++i) times[r.below(times.size())] = 25;
    const auto outliers = find_outliers(times);
    return outliers && outliers->count >= 1 && outliers->count <= 4 && outliers->largest_s == 25;
  });
  for (const Make& make : nothing())
    expect_silent([&](Random& r) { return find_outliers(make(r)).has_value(); });
}

TEST(Findings, StallsAreFoundAndNotImagined) {
  expect_found([](Random& r) {
    Times times = scatter(r, 0.2);
    const std::size_t at = 100 + r.below(800);
    for (std::size_t i = 0; i < 10; ++i)
      times[at + i] += 20 * r.uniform() + 10;  // ten in progress when it stopped
    const auto stalls = find_stalls(times, 10);
    return stalls && stalls->count == 1 && stalls->operations >= 8;
  });
  // Ten operations that are slow alone, not together, are outliers.
  expect_silent([](Random& r) {
    Times times = scatter(r, 0.2);
    for (std::size_t i = 0; i < 10; ++i) times[i * 100 + r.below(100)] = 25;
    return find_stalls(times, 4).has_value();
  });
  for (const Make& make : nothing())
    expect_silent([&](Random& r) { return find_stalls(make(r), 10).has_value(); });
}

TEST(Findings, TwoHumpsAreFoundAndNotImagined) {
  for (const double share : {0.1, 0.5, 0.9}) {
    expect_found([&](Random& r) {
      Times times = scatter(r, 0.1);
      for (double& t : times) t *= r.uniform() < share ? 2 : 1;
      const auto humps = find_two_humps(times);
      return humps && std::fabs(humps->share_high - share) < 0.05 &&
             std::fabs(humps->high_s / humps->low_s - 2) < 0.1;
    });
  }
  for (const Make& make : nothing())
    expect_silent([&](Random& r) { return find_two_humps(make(r)).has_value(); });
  expect_silent([](Random& r) {  // a skewed tail is no second hump
    Times times(1000);
    for (double& t : times) t = 1 + 3 * r.exponential() * r.uniform();
    return find_two_humps(times).has_value();
  });
}

// `places` servers in front of which clients wait in line; a lone client takes 1, one that shares takes `shared`.
CampaignSeries queue_run(Random& random, int concurrency, int places, double sigma, double shared,
                         std::size_t n) {
  CampaignSeries series;
  series.target = "lab";
  series.action = "push";
  series.concurrency = concurrency;
  std::priority_queue<double, Times, std::greater<>> free_at;
  for (int i = 0; i < places; ++i) free_at.push(0);
  std::priority_queue<std::pair<double, double>, std::vector<std::pair<double, double>>, std::greater<>> ends;
  std::vector<std::pair<double, double>> done;  // end and time
  const double slower = concurrency > 1 ? shared : 1;
  std::size_t started = 0;
  const auto start = [&](double at) {
    const double begin = std::max(at, free_at.top());
    free_at.pop();
    const double end = begin + slower * scattered(random, sigma);
    free_at.push(end);
    ends.emplace(end, end - at);
    ++started;
  };
  for (int i = 0; i < concurrency; ++i) start(0);
  while (!ends.empty()) {
    const auto [end, time] = ends.top();
    ends.pop();
    done.emplace_back(end, time);
    if (started < n) start(end);
  }
  for (std::size_t i = 0; i < done.size(); ++i) {
    series.iterations.push_back(static_cast<std::uint32_t>(i + 1));
    series.seconds.push_back(done[i].second);
  }
  return series;
}

Campaign queue_campaign(Random& random, int places, double sigma, double shared = 1) {
  Campaign campaign;
  campaign.name = "lab";
  for (const int level : {1, 10, 30, 50}) {
    campaign.series.push_back(queue_run(random, level, places, sigma, shared, 400));
  }
  return campaign;
}

std::vector<stats::Finding> ceilings(const Campaign& campaign) {
  std::vector<stats::Finding> out = campaign_findings(campaign, campaign_record(campaign));
  std::erase_if(out, [](const stats::Finding& finding) { return finding.id != "concurrency-ceiling"; });
  return out;
}

TEST(Findings, TheCeilingIsFoundWithItsInterval) {
  for (const int places : {2, 5, 12}) {
    expect_found([&](Random& r) {
      const auto found = ceilings(queue_campaign(r, places, 0.15));
      if (found.size() != 1) return false;
      const auto& evidence = found[0].evidence;
      return evidence.at("low") <= places && places <= evidence.at("high") &&
             std::fabs(evidence.at("estimate") / places - 1) < 0.15;
    });
  }
}

TEST(Findings, TheCeilingIsFoundWhereSharingSlowsEachOne) {
  expect_found([](Random& r) {
    const auto found = ceilings(queue_campaign(r, 5, 0.1, 1.25));
    return found.size() == 1 && found[0].evidence.at("low") <= 5 && found[0].evidence.at("high") >= 5 &&
           std::fabs(found[0].evidence.at("estimate") / 5 - 1) < 0.15 &&
           found[0].context.at("kind") == "admission" && found[0].evidence.at("saturation_level") == 10;
  });
}

TEST(Findings, NoCeilingIsImaginedWhereAllProgress) {
  for (const double sigma : {0.05, 0.5}) {
    expect_silent([&](Random& r) { return !ceilings(queue_campaign(r, 1000, sigma)).empty(); });
  }
  // Twice as slow at fifty as alone: it costs, but the rate still grows.
  expect_silent([](Random& r) {
    Campaign campaign;
    for (const int level : {1, 10, 30, 50}) {
      campaign.series.push_back(queue_run(r, level, 1000, 0.2, 1 + 0.3 * level / 50, 400));
    }
    return !ceilings(campaign).empty();
  });
}

TEST(Findings, ASharedMachineIsNoLine) {
  Random random(5);
  Campaign campaign;
  for (const int level : {1, 10, 30, 50}) {  // each of them slower, none waiting
    campaign.series.push_back(queue_run(random, level, 1000, 0.1, std::max(1.0, level / 4.0), 400));
  }
  const auto found = ceilings(campaign);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].context.at("kind"), "shared");
  EXPECT_NEAR(found[0].evidence.at("estimate"), 4, 0.3);
}

TEST(Findings, TheSideIsToldBySeveralTargets) {
  Random random(11);
  const auto with_targets = [&](int places_a, int places_b) {
    Campaign campaign;
    for (const auto& [target, places] : {std::pair{"a", places_a}, std::pair{"b", places_b}}) {
      for (CampaignSeries& series : queue_campaign(random, places, 0.1).series) {
        series.target = target;
        campaign.series.push_back(series);
      }
    }
    return ceilings(campaign);
  };
  const auto same = with_targets(5, 5);
  ASSERT_EQ(same.size(), 2U);
  EXPECT_EQ(same[0].context.at("side"), "client");
  EXPECT_EQ(same[1].context.at("side"), "client");
  EXPECT_NE(same[1].context.at("cause").find("in the client"), std::string::npos);
  const auto different = with_targets(5, 1000);
  ASSERT_EQ(different.size(), 1U);
  EXPECT_EQ(different[0].context.at("side"), "registry");
  EXPECT_EQ(ceilings(queue_campaign(random, 5, 0.1)).at(0).context.at("side"), "unknown");
}

TEST(Usl, FitsItsOwnCurve) {
  const Usl curve{100, 0.05, 0.0004};
  std::vector<LevelRate> levels;
  for (const double n : {1.0, 4.0, 16.0, 32.0, 64.0, 128.0}) levels.push_back({n, curve.rate(n)});
  const auto fitted = fit_usl(std::span<const LevelRate>(levels));
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(fitted->lambda, 100, 1e-6);
  EXPECT_NEAR(fitted->sigma, 0.05, 1e-9);
  EXPECT_NEAR(fitted->kappa, 0.0004, 1e-9);
  EXPECT_NEAR(*fitted->peak(), std::sqrt(0.95 / 0.0004), 1e-6);
}

TEST(Usl, HasNoPeakWhereTheRateOnlyRises) {
  const std::vector<LevelRate> levels = {{1, 10}, {2, 20}, {4, 40}, {8, 80}};
  const auto fitted = fit_usl(std::span<const LevelRate>(levels));
  ASSERT_TRUE(fitted);
  EXPECT_FALSE(fitted->peak());
  EXPECT_FALSE(fit_usl(std::span<const LevelRate>(levels).first(2)));
}

// The document's own data: about five pushes progress at once, which its authors saw and could not explain.
TEST(Findings, TheDocumentsCeilingIsFound) {
  const std::filesystem::path folder = test::source_dir() / "../shared/data/openstack-artifactory-2016";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "the campaign's data (openstack-artifactory-2016) is not there";
  const auto found = ceilings(read_campaign(folder).value());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].context.at("action"), "push");
  EXPECT_LE(found[0].evidence.at("low"), 5);
  EXPECT_GE(found[0].evidence.at("high"), 5);
  EXPECT_NEAR(found[0].evidence.at("estimate"), 4.6, 0.3);
  EXPECT_EQ(found[0].evidence.at("saturation_level"), 10);
  EXPECT_EQ(found[0].context.at("kind"), "admission");
}

// A record of a run in which nothing was remarkable, different with each seed.
stats::Record quiet_record(Random& random) {
  stats::Record record;
  stats::TestRecord test;
  test.name = "Pull 1MB";
  test.target = "lab";
  test.action = "pull";
  test.concurrency = static_cast<int>(1 + random.below(64));
  const auto n = 1000 + random.below(100'000);
  test.operations = {.started = n, .ok = n, .failed = 0, .aborted = 0};
  test.latency_s = test::example_times(n, 0.001, 0.0001 * scattered(random, 0.5));
  test.checks.client_cpu = 0.8 * random.uniform();
  test.checks.concurrency_reached = test.concurrency * (0.93 + 0.07 * random.uniform());
  test.steps = {{"manifest GET", n, {{200, n}}, {}, {}, {}}, {"layer GET", n, {{200, n}}, {}, {}, {}}};
  test.connections.opened = static_cast<std::uint64_t>(test.concurrency);
  test.connections.reconnected = n / 1000;
  for (int second = 0; second < 20; ++second) {
    test.series.push_back({static_cast<double>(second), 15 + random.below(30), 0, 0, 0.01, 0.02});
  }
  test.details = {{"layers_reused", "40"}, {"layers_found", "40"}};
  record.tests.push_back(std::move(test));
  return record;
}

TEST(RecordFindings, ARemarkableThingIsNamedAndNothingElse) {
  using Change = std::function<void(stats::TestRecord&, Random&)>;
  const std::vector<std::pair<std::string, Change>> effects = {
      {"generator-bound",
       [](auto& t, Random&) {
         t.checks.client_bound = true;
         t.checks.client_cpu = 0.99;
       }},
      {"concurrency-not-reached",
       [](auto& t, Random& r) { t.checks.concurrency_reached = t.concurrency * 0.85 * r.uniform(); }},
      {"too-few-samples",
       [](auto& t, Random& r) {
         const auto n = 20 + r.below(79);
         t.latency_s = test::example_times(n, 0.001, 0.0001);
         t.checks.concurrency_reached = t.concurrency;
       }},
      {"throttled", [](auto& t, Random& r) { t.steps[1].statuses[429] = 1 + r.below(100); }},
      {"throttled", [](auto& t, Random& r) { t.errors.push_back({"throttled", 1 + r.below(100), {}}); }},
      {"redirects", [](auto& t, Random& r) { t.steps[1].statuses[307] = 1 + r.below(100); }},
      {"retries", [](auto& t, Random& r) { t.notes.push_back({"retried", 1 + r.below(9), {}}); }},
      {"retries", [](auto& t, Random& r) { t.notes.push_back({"resumed", 1 + r.below(9), {}}); }},
      {"chunks-refused",
       [](auto& t, Random& r) { t.notes.push_back({"range_mismatch", 1 + r.below(9), {}}); }},
      {"chunks-refused", [](auto& t, Random& r) { t.steps[1].statuses[416] = 1 + r.below(9); }},
      {"connections-closed", [](auto& t, Random&) { t.connections.reconnected = t.operations.ok / 10; }},
      {"reupload", [](auto& t, Random& r) { t.details["layers_found"] = std::to_string(r.below(40)); }},
      {"mounts-refused", [](auto& t, Random& r) { t.notes.push_back({"mount_missed", 1 + r.below(9), {}}); }},
      {"stalls", [](auto& t, Random& r) { t.series[1 + r.below(17)].ok = 0; }}};
  for (const auto& [id, change] : effects) {
    expect_found([&](Random& random) {
      stats::Record record = quiet_record(random);
      change(record.tests[0], random);
      const auto found = record_findings(record);
      return found.size() == 1 && found[0].id == id && found[0].context.at("test") == "Pull 1MB" &&
             !found[0].evidence.empty() && !found[0].context.at("cause").empty();
    });
  }
  expect_silent([](Random& random) { return !record_findings(quiet_record(random)).empty(); });
}

TEST(RecordFindings, AnOpenLoopAsksForNoConcurrency) {
  Random random(1);
  stats::Record record = quiet_record(random);
  record.tests[0].checks.concurrency_reached = 0.1;
  EXPECT_EQ(record_findings(record).size(), 1U);
  record.tests[0].open_loop = stats::OpenLoop{};
  EXPECT_TRUE(record_findings(record).empty());
}

}  // namespace
}  // namespace plimsoll::report
