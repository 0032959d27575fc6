#include "report/plots.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>

#include "report/campaign_table.h"
#include "report/run_program.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Campaign two_levels(std::size_t n = 50) {
  Campaign campaign;
  campaign.name = "lab";
  for (const int level : {1, 10}) {
    CampaignSeries series{"lab's <\"x\">", "push", level, 0, "f", {}, {}};
    for (std::size_t i = 0; i < n; ++i) {
      series.iterations.push_back(static_cast<std::uint32_t>(i + 1));
      series.seconds.push_back(level * (1 + 0.01 * static_cast<double>((i * 37) % 50)));
    }
    campaign.series.push_back(std::move(series));
  }
  return campaign;
}

class Plots : public testing::Test {
 protected:
  void SetUp() override { root_ = fs::path(testing::TempDir()) / ("plots-" + std::to_string(::getpid())); }
  void TearDown() override { fs::remove_all(root_); }
  std::string text(const std::string& name) const {
    std::ifstream file(root_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path root_;
};

TEST_F(Plots, AreDrawnByGnuplot) {
  const Campaign campaign = two_levels();
  const auto plots = campaign_plots(campaign, campaign_record(campaign));
  std::set<std::string> names;
  for (const Plot& plot : plots) names.insert(plot.name);
  EXPECT_EQ(names,
            (std::set<std::string>{"push_time_iteration_concurrency-1", "push_time_iteration_concurrency-10",
                                   "push_time_iteration_all", "push_time_concurrency",
                                   "push_throughput_concurrency", "push_latency_percentile"}));
  const auto drawn = draw_plots(plots, root_);
  ASSERT_TRUE(drawn) << drawn.error().message;
  for (const std::string& name : names) {
    const std::string svg = text(name + ".svg");
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << name;
    EXPECT_EQ(svg.find("<\"x\">"), std::string::npos) << "the target's name is text, not markup";
  }
  EXPECT_NE(text("push_time_concurrency.svg").find("90th percentile"), std::string::npos);
  EXPECT_NE(text("push_throughput_concurrency.svg").find("estimated"), std::string::npos);
}

TEST_F(Plots, SayThatGnuplotIsAbsent) {
  const Campaign campaign = two_levels();
  const auto plots = campaign_plots(campaign, campaign_record(campaign));
  const auto drawn = draw_plots(plots, root_, 10s, "no-such-gnuplot");
  ASSERT_FALSE(drawn);
  EXPECT_TRUE(drawn.error().message.starts_with(
      "plots are not drawn: no-such-gnuplot is not on the PATH; the scripts are in "));
  EXPECT_TRUE(fs::exists(root_ / "push_time_concurrency.gp"));
}

TEST_F(Plots, SeveralTargetsHaveTheirOwnFiles) {
  Campaign campaign = two_levels();
  campaign.series[1].target = "other";
  const auto plots = campaign_plots(campaign, campaign_record(campaign));
  EXPECT_EQ(plots.front().name, "lab-s---x--_push_time_iteration_concurrency-1");
  EXPECT_EQ(plots.back().name, "other_push_latency_percentile");
}

TEST_F(Plots, ThinningKeepsTheExtremes) {
  Campaign campaign = two_levels(100'000);
  campaign.series[0].seconds[77'777] = 12345.5;
  const auto plots = campaign_plots(campaign, campaign_record(campaign));
  EXPECT_LT(plots[0].script.size(), 200'000U);
  EXPECT_NE(plots[0].script.find("77778 12345.5\n"), std::string::npos);
}

TEST_F(Plots, UseTheMeasuredRate) {
  const Campaign campaign = two_levels();
  stats::Record record = campaign_record(campaign);
  for (stats::TestRecord& test : record.tests) {
    test.details.clear();
    test.rate_per_s = 7.25;
  }
  for (const Plot& plot : campaign_plots(campaign, record)) {
    if (plot.name != "push_throughput_concurrency") continue;
    EXPECT_NE(plot.script.find("\n10 7.25\n"), std::string::npos);
    EXPECT_NE(plot.script.find("title 'measured'"), std::string::npos);
  }
}

TEST(RunProgram, KeepsMessagesAndCode) {
  const auto end = run_program({"ls", "no-such-file"}, "/", 10s);
  ASSERT_TRUE(end);
  EXPECT_NE(end->exit_code, 0);
  EXPECT_NE(end->messages.find("no-such-file"), std::string::npos);
}

TEST(RunProgram, EndsAProgramThatDoesNotEnd) {
  const Instant start = now();
  const auto end = run_program({"sleep", "30"}, "/", 100ms);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "sleep did not end within 0.1 s");
  EXPECT_LT(now() - start, 10s);
}

}  // namespace
}  // namespace plimsoll::report
