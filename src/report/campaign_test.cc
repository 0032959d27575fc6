#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/text.h"
#include "report/campaign_csv.h"
#include "report/campaign_table.h"
#include "tests/support/paths.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;

struct Read {
  CampaignSeries series;
  std::vector<CampaignProblem> problems;
};

Read read(const std::string& text) {
  Read out;
  out.series.file = "f.csv";
  std::istringstream in(text);
  read_results(in, out.series, out.problems);
  return out;
}

std::vector<std::string> messages(const Read& read) {
  std::vector<std::string> out;
  for (const CampaignProblem& problem : read.problems) out.push_back(problem.message());
  return out;
}

using Lines = std::vector<std::string>;
using Times = std::vector<double>;

TEST(ReadResults, TakesASoundFile) {
  const Read file = read("iteration,spent_time\n2,1.5\n1,0.25\n");
  EXPECT_EQ(file.series.iterations, (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(file.series.seconds, (Times{1.5, 0.25}));
  EXPECT_TRUE(file.problems.empty());
}

TEST(ReadResults, ReadsOverLineEndsBlanksAndSpaces) {
  const Read file = read("\xEF\xBB\xBFiteration,spent_time\r\n1, 1.5\r\n\r\n 2 ,2.5\r\n");
  EXPECT_EQ(file.series.seconds, (Times{1.5, 2.5}));
  EXPECT_EQ(messages(file), (Lines{"f.csv:3: blank line"}));
}

TEST(ReadResults, NamesWhatItLeavesOut) {
  const Read file = read(
      "iteration,spent_time\n"
      "1,1.5\n2\n3,1.5,9\n4,nan\n5,-1\n6,inf\nx,1\n1,9.5\n7,\n8,1.5e\n9,2.5\n-1,3\n");
  EXPECT_EQ(file.series.seconds, (Times{1.5, 2.5}));
  EXPECT_EQ(messages(file), (Lines{"f.csv:3: 1 columns where the header has 2; the row is left out",
                                   "f.csv:4: 3 columns where the header has 2; the row is left out",
                                   "f.csv:5: time 'nan' is no finite number; the row is left out",
                                   "f.csv:6: time -1 is negative; the row is left out",
                                   "f.csv:7: time 'inf' is no finite number; the row is left out",
                                   "f.csv:8: iteration 'x' is no number; the row is left out",
                                   "f.csv:9: iteration 1 came before; the later row is left out",
                                   "f.csv:10: time '' is no finite number; the row is left out",
                                   "f.csv:11: time '1.5e' is no finite number; the row is left out",
                                   "f.csv:13: iteration '-1' is no number; the row is left out"}));
}

TEST(ReadResults, FindsColumnsByName) {
  const Read file = read("host,spent_time,iteration\na,1.5,1\nb,2.5,2\n");
  EXPECT_EQ(file.series.seconds, (Times{1.5, 2.5}));
  EXPECT_TRUE(file.problems.empty());
  const Read other = read("n,time\n1,2\n");
  EXPECT_TRUE(other.series.seconds.empty());
  EXPECT_EQ(messages(other),
            (Lines{"f.csv:1: the header does not name iteration and spent_time; the file is left out"}));
}

TEST(ReadResults, SaysThatThereIsNoHeader) {
  const Read file = read("1,1.5\n2,2.5\n");
  EXPECT_EQ(file.series.seconds, (Times{1.5, 2.5}));
  EXPECT_EQ(messages(file),
            (Lines{"f.csv:1: there is no header; the columns are taken as iteration,spent_time"}));
}

TEST(ReadResults, ACutOffLastLineIsLeftOutAtEveryByte) {
  const std::string whole = "iteration,spent_time\n1,11.25\n2,12.75\n3,13.50";
  EXPECT_EQ(read(whole).series.seconds, (Times{11.25, 12.75, 13.5}));
  EXPECT_TRUE(read(whole).problems.empty()) << "a file may lack its last line end";
  const auto last_line = whole.rfind('\n') + 1;
  for (std::size_t length = last_line + 1; length < whole.size(); ++length) {
    const Read file = read(whole.substr(0, length));
    EXPECT_EQ(file.series.seconds, (Times{11.25, 12.75})) << whole.substr(0, length);
    EXPECT_EQ(file.problems.size(), 1U) << whole.substr(0, length);
  }
}

TEST(ReadResults, NamesAtMostTwentyProblemsAndCountsTheRest) {
  std::string text = "iteration,spent_time\n1,1\n";
  for (int i = 0; i < 100; ++i) text += "bad\n";
  const Read file = read(text);
  ASSERT_EQ(file.problems.size(), kProblemsPerFile + 1);
  EXPECT_EQ(file.problems.back().message(), "f.csv: 80 more rows are not sound");
}

TEST(ReadResults, AnEmptyFileIsNamed) {
  EXPECT_EQ(messages(read("")), (Lines{"f.csv: the file is empty"}));
}

// A folder that is gone when the test is.
class CampaignFolder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("campaign-" + std::to_string(::getpid()) + "-" +
                                            testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(CampaignFolder, SortsByActionAndLevel) {
  for (const char* level : {"10", "2", "1"}) {
    for (const char* action : {"pull", "push"}) {
      file(std::string("concurrency-") + level + "/" + action + "_results.csv",
           "iteration,spent_time\n1,1\n");
    }
  }
  const auto campaign = read_campaign(root_);
  ASSERT_TRUE(campaign);
  std::string order;
  for (const CampaignSeries& s : campaign->series) order += s.action + std::to_string(s.concurrency) + " ";
  EXPECT_EQ(order, "push1 push2 push10 pull1 pull2 pull10 ");
  EXPECT_EQ(campaign->series[0].target, root_.filename().string());
  EXPECT_TRUE(campaign->problems.empty());
}

TEST_F(CampaignFolder, ReadsTargetsAndRepeats) {
  file("blue/repeat-2/concurrency-4/push_results.csv", "iteration,spent_time\n1,1\n");
  file("green/concurrency-4/push_results.csv", "iteration,spent_time\n1,1\n");
  const auto campaign = read_campaign(root_);
  ASSERT_TRUE(campaign);
  ASSERT_EQ(campaign->series.size(), 2U);
  EXPECT_EQ(campaign->series[0].target, "blue");
  EXPECT_EQ(campaign->series[0].repeat, 2);
  EXPECT_EQ(campaign->series[1].target, "green");
  EXPECT_EQ(campaign_csv(campaign_rows(*campaign)),
            "target,action,concurrency,iterations,maximum,minimum,average,p90,repeat\n"
            "blue,push,4,1,1,1,1,1,2\ngreen,push,4,1,1,1,1,1,0\n");
}

TEST_F(CampaignFolder, ReadsImagesAsActionsOfTheirOwn) {
  file("image-1/repeat-1/concurrency-4/push_results.csv", "iteration,spent_time\n1,1\n");
  file("image-2/repeat-1/concurrency-4/push_results.csv", "iteration,spent_time\n1,2\n");
  file("repeat-1/concurrency-4/pull-1mb_results.csv", "iteration,spent_time\n1,3\n");
  auto campaign = read_campaign(root_);
  ASSERT_TRUE(campaign);
  EXPECT_TRUE(campaign->problems.empty()) << campaign->problems.front().message();
  std::string actions;
  for (const CampaignSeries& series : campaign->series) actions += series.action + ", ";
  EXPECT_EQ(actions, "push image-1, push image-2, pull-1mb, ");
  stats::Record record;
  record.tests.resize(2);
  record.tests[0].name = "push 60kB";
  record.tests[0].samples_file = "image-1/repeat-1/concurrency-4/push_results.csv";
  record.tests[1].name = "Pull 1MB";
  record.tests[1].target = "lab";
  record.tests[1].samples_file = "repeat-1/concurrency-4/pull-1mb_results.csv";
  name_by_record(*campaign, record);
  EXPECT_EQ(campaign->series[0].action, "push 60kB");
  EXPECT_EQ(campaign->series[1].action, "push image-2");
  EXPECT_EQ(campaign->series[2].action, "Pull 1MB");
  EXPECT_EQ(campaign->series[2].target, "lab");
  EXPECT_TRUE(belongs(campaign->series[0], record.tests[0]));
  EXPECT_FALSE(belongs(campaign->series[1], record.tests[0]));
}

TEST_F(CampaignFolder, NamesALevelThatOthersHave) {
  for (const char* folder : {"repeat-1/concurrency-1", "repeat-1/concurrency-9", "repeat-2/concurrency-1"})
    file(std::string(folder) + "/push_results.csv", "iteration,spent_time\n1,1\n");
  const auto campaign = read_campaign(root_);
  ASSERT_TRUE(campaign);
  ASSERT_EQ(campaign->problems.size(), 1U);
  EXPECT_EQ(campaign->problems[0].message(), "repeat-2/concurrency-9: the level is missing; others have it");
}

TEST_F(CampaignFolder, NamesMissingAndStrayFolders) {
  file("concurrency-1/push_results.csv", "iteration,spent_time\n1,1\n");
  file("concurrency-1/pull_results.csv", "iteration,spent_time\n1,1\n");
  file("concurrency-5/push_results.csv", "iteration,spent_time\n1,1\n");
  file("concurrency-many/push_results.csv", "iteration,spent_time\n1,1\n");
  file("concurrency-7/notes.txt", "x");
  const auto campaign = read_campaign(root_);
  ASSERT_TRUE(campaign);
  EXPECT_EQ(campaign->series.size(), 3U);
  std::string all;
  for (const CampaignProblem& problem : campaign->problems) all += problem.message() + "\n";
  EXPECT_EQ(all,
            "concurrency-many: the level is no positive number; the folder is left out\n"
            "concurrency-5: pull_results.csv is missing; other levels have it\n"
            "concurrency-7: pull_results.csv is missing; other levels have it\n"
            "concurrency-7: push_results.csv is missing; other levels have it\n");
}

TEST_F(CampaignFolder, WithoutResultsIsOneClearLine) {
  file("concurrency-1/push_results.csv", "");
  const auto campaign = read_campaign(root_);
  ASSERT_FALSE(campaign);
  EXPECT_NE(campaign.error().message.find("no results: expected concurrency-N/push_results.csv"),
            std::string::npos);
  EXPECT_EQ(campaign.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(read_campaign(root_ / "absent"));
}

TEST(CampaignTable, InterpolatesAndPrintsTenDigits) {
  Campaign campaign;
  campaign.name = "lab";
  campaign.series = {{"lab", "push", 5, 0, "f", {1, 2, 3, 4}, {4, 1, 2, 3}}};
  EXPECT_EQ(campaign_text(campaign),
            "PUSH_TIME(CONCURRENCY), lab\n"
            "Concurrency Maximum Minimum Average Percentile 90%\n"
            "5           4       1       2.5     3.7\n"
            "\n"
            "Seconds. Percentiles interpolate linearly between the two nearest samples.\n");
  EXPECT_NE(campaign_markdown(campaign).find("| 5 | 4 | 1 | 2.5 | 3.7 |"), std::string::npos);
}

TEST(CampaignTable, TheRecordEstimatesItsRateAndSaysSo) {
  Campaign campaign;
  campaign.series = {{"lab", "push", 5, 0, "f", {1, 2}, {1, 3}}};
  const stats::Record record = campaign_record(campaign);
  ASSERT_EQ(record.tests.size(), 1U);
  EXPECT_DOUBLE_EQ(record.tests[0].rate_per_s, 2.5);
  EXPECT_DOUBLE_EQ(record.tests[0].latency_s.max, 3);
  EXPECT_EQ(record.tests[0].details.at("rate"), "estimated");
}

// The two tables of the document, to all of their digits.
TEST(CampaignTable, GivesTheDocumentsTables) {
  const fs::path folder = test::source_dir() / "../shared/data/openstack-artifactory-2016";
  if (!fs::exists(folder)) GTEST_SKIP() << "the campaign's data (openstack-artifactory-2016) is not there";
  const auto campaign = read_campaign(folder);
  ASSERT_TRUE(campaign);
  EXPECT_TRUE(campaign->problems.empty()) << campaign->problems.front().message();
  EXPECT_EQ(campaign_csv(campaign_rows(*campaign)),
            "target,action,concurrency,iterations,maximum,minimum,average,p90\n"
            "openstack-artifactory-2016,push,1,1000,20.45173717,18.13562512,18.45595757,18.70360937\n"
            "openstack-artifactory-2016,push,10,1000,52.81749606,21.4737699,47.39192888,47.92230422\n"
            "openstack-artifactory-2016,push,30,1000,147.2520959,21.35128784,140.8133277,143.3592351\n"
            "openstack-artifactory-2016,push,50,1000,242.0436599,21.53936005,232.1077632,238.6817375\n"
            "openstack-artifactory-2016,push,100,1000,474.1983588,21.41779709,447.7350837,471.5060248\n"
            "openstack-artifactory-2016,pull,1,1000,1.023168087,0.09103393555,0.7067174957,0.7760614157\n"
            "openstack-artifactory-2016,pull,10,1000,1.87360692,0.08845591545,1.127708118,1.361271906\n"
            "openstack-artifactory-2016,pull,30,1000,4.27976203,0.1920921803,2.644113734,2.870757174\n"
            "openstack-artifactory-2016,pull,50,1000,6.287320852,0.2292528152,4.416184656,4.711911416\n"
            "openstack-artifactory-2016,pull,100,1000,10.30138803,0.167137146,8.50843117,9.09850688\n");
}

}  // namespace
}  // namespace plimsoll::report
