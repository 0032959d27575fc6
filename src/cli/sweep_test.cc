#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/sweep_plan.h"

namespace plimsoll::cli {
namespace {

std::vector<std::string> names(const Checked<std::vector<SweepAction>>& actions) {
  std::vector<std::string> out;
  for (const SweepAction& action : actions.value()) out.push_back(action.name + "|" + action.slug);
  return out;
}

using Words = std::vector<std::string>;

TEST(SweepActions, TakePushPullAndTestsWhoseNamesHoldCommas) {
  EXPECT_EQ(names(parse_actions("push,pull")), (Words{"push|push", "pull|pull"}));
  EXPECT_EQ(names(parse_actions(" pull , PULL 1mb,Get Catalog")),
            (Words{"pull|pull", "Pull 1MB|pull-1mb", "Get Catalog|get-catalog"}));
  EXPECT_EQ(
      names(parse_actions("Pull Mixed 20% 1MB, 70% 10MB, 10% 100MB,push")),
      (Words{"Pull Mixed 20% 1MB, 70% 10MB, 10% 100MB|pull-mixed-20-1mb-70-10mb-10-100mb", "push|push"}));
  for (const workload::RegistryTest& test : workload::registry_tests())
    EXPECT_EQ(parse_actions(test.name).value().at(0).test, &test);
  for (const char* bad : {"", "pusch", "push,", "push,push", "Pull 1", "Pull 1MBx"})
    EXPECT_FALSE(parse_actions(bad)) << bad;
}

TEST(SweepLevels, AreWholeNumbersEachOnce) {
  EXPECT_EQ(parse_levels("1, 10,30").value(), (std::vector<int>{1, 10, 30}));
  for (const char* bad : {"", "0", "1,,2", "1,x", "-1", "3,3", "100001"})
    EXPECT_FALSE(parse_levels(bad)) << bad;
}

TEST(SweepImages, AreListsOfLayers) {
  const auto images = parse_images({"187.8MB,194.5kB; 1MB", "2MiB"}).value();
  ASSERT_EQ(images.size(), 3U);
  EXPECT_EQ(images[0].layers, (std::vector<std::uint64_t>{187'800'000, 194'500}));
  EXPECT_EQ(images[1].name, "1MB");
  EXPECT_EQ(images[2].bytes(), 2U << 20U);
  EXPECT_GT(parse_images({"1B"}).value()[0].layers[0], 1U) << "a tar archive has a frame";
  for (const char* bad : {"", "1MB,,2MB", "huge", "1MB;1MB", "-3MB"})
    EXPECT_FALSE(parse_images({bad})) << bad;
}

SweepOptions options_of(int repeat, const std::string& images = "1MB") {
  SweepOptions options;
  options.bench.url = "http://127.0.0.1:1";
  options.actions_given = "push,pull,Pull 1MB";
  options.levels_given = "1,10";
  options.repeat = repeat;
  options.images_given = {images};
  EXPECT_TRUE(options.check());
  return options;
}

using Key = std::tuple<std::size_t, std::size_t, std::size_t, int, int>;
Key key(const Stretch& s) {
  return {s.target, s.action, s.image, s.concurrency, s.repeat};
}

TEST(SweepPlan, RunsEveryStretchOnceInAnyOrder) {
  SweepOptions options = options_of(3, "1MB;2MB");
  // Two images of push and pull and one test with its own, at two levels, three times, on two targets.
  constexpr std::size_t kAll = (2 * 2 + 1) * 2 * 3 * 2;
  std::set<Key> first;
  for (const auto& [interleave, shuffle] :
       {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    options.interleave = interleave;
    options.shuffle = shuffle;
    std::set<Key> keys;
    for (const Stretch& stretch : plan_stretches(options, 2, 7)) keys.insert(key(stretch));
    EXPECT_EQ(keys.size(), kAll);
    if (first.empty()) first = keys;
    EXPECT_EQ(keys, first);
  }
}

TEST(SweepPlan, AlternatesTargetsAndWhichOfThemBegins) {
  SweepOptions options = options_of(2);
  options.interleave = true;
  const auto stretches = plan_stretches(options, 2, 7);
  for (std::size_t i = 0; i < stretches.size(); i += 2) {
    EXPECT_NE(stretches[i].target, stretches[i + 1].target);
    EXPECT_EQ(stretches[i].action, stretches[i + 1].action);
    EXPECT_EQ(stretches[i].concurrency, stretches[i + 1].concurrency);
    EXPECT_EQ(stretches[i].target, static_cast<std::size_t>(stretches[i].repeat));
  }
}

TEST(SweepPlan, ShufflesTheSameWayForTheSameSeed) {
  SweepOptions options = options_of(4);
  options.shuffle = true;
  const auto keys = [&](std::uint64_t seed) {
    std::vector<Key> out;
    for (const Stretch& stretch : plan_stretches(options, 2, seed)) out.push_back(key(stretch));
    return out;
  };
  EXPECT_EQ(keys(7), keys(7));
  EXPECT_NE(keys(7), keys(8));
}

TEST(SweepPlan, NamesFoldersAsTheDocumentWhereThereIsOneOfEach) {
  const Words one = {"registry"};
  const Words two = {"a", "b"};
  SweepOptions options = options_of(1);
  EXPECT_EQ(csv_of({0, 0, 0, 10, 0}, options, one), "concurrency-10/push_results.csv");
  EXPECT_EQ(csv_of({0, 2, Stretch::kOwnImage, 10, 0}, options, one), "concurrency-10/pull-1mb_results.csv");
  EXPECT_EQ(name_of({0, 0, 0, 10, 0}, options, one), "registry push c=10");
  options = options_of(2, "1MB;2MB");
  EXPECT_EQ(csv_of({1, 1, 1, 10, 0}, options, two), "b/image-2/repeat-1/concurrency-10/pull_results.csv");
  EXPECT_EQ(csv_of({1, 2, Stretch::kOwnImage, 1, 1}, options, two),
            "b/repeat-2/concurrency-1/pull-1mb_results.csv");
  EXPECT_EQ(name_of({1, 1, 1, 10, 0}, options, two), "b pull 2MB c=10 repeat 1");
}

TEST(SweepOptions, WantAnUpstreamForSyncTests) {
  SweepOptions options = options_of(1);
  options.actions_given = "On-demand Sync 100MB";
  EXPECT_FALSE(options.check());
  options.bench.upstream_url = "http://127.0.0.1:2";
  EXPECT_TRUE(options.check());
}

}  // namespace
}  // namespace plimsoll::cli
