#include "report/html.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "report/campaign_table.h"
#include "report/findings.h"
#include "report/plain.h"
#include "report/report_page.h"
#include "report/run_program.h"
#include "report/thinning.h"
#include "stats/histogram.h"
#include "tests/support/example_record.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Campaign campaign_of(std::size_t operations) {
  Random random(1);
  Campaign campaign;
  campaign.name = "lab";
  for (const char* action : {"push", "pull"}) {
    for (const int level : {1, 10, 100}) {
      CampaignSeries series{"lab", action, level, 0, "f.csv", {}, {}};
      for (std::size_t i = 0; i < operations / 6; ++i) {
        series.iterations.push_back(static_cast<std::uint32_t>(i + 1));
        series.seconds.push_back(0.1 * level * (1 + random.uniform()));
      }
      campaign.series.push_back(std::move(series));
    }
  }
  campaign.problems = {{"concurrency-1/push_results.csv", 7, "time -1 is negative; the row is left out"}};
  return campaign;
}

stats::Record rich_record() {
  stats::Record record = test::example_record();
  stats::Histogram times;
  for (std::uint64_t i = 1; i <= 1000; ++i) times.record(i * 1'000'000);
  record.tests[1].histograms["latency"] = times.encode_v2();
  for (int second = 0; second < 10; ++second) {
    record.tests[1].series.push_back({static_cast<double>(second), 40, 0, 1000, 0.002, 0.005});
  }
  record.attachments = {{"switch.txt", "switchport mode trunk\n</script><b>bold</b>"}};
  return record;
}

TEST(PageData, HoldsTheRecordAndThinnedTimes) {
  const Campaign campaign = campaign_of(600'000);
  const auto data = nlohmann::json::parse(page_data({{"lab", campaign_record(campaign), &campaign}}));
  const auto& run = data["runs"][0];
  EXPECT_EQ(run["record"]["tests"].size(), 6U);
  EXPECT_EQ(run["series"][0]["operations"], 100'000);
  EXPECT_LE(run["series"][0]["iterations"].size(), 4'000U);
  EXPECT_GE(run["series"][0]["iterations"].size(), 1'000U);
  EXPECT_EQ(run["curves"].size(), 6U);
  EXPECT_EQ(run["problems"][0], "concurrency-1/push_results.csv:7: time -1 is negative; the row is left out");
}

TEST(PageData, DrawsCurvesFromHistograms) {
  const auto data = nlohmann::json::parse(page_data({{"run", rich_record(), nullptr}}));
  const auto& curves = data["runs"][0]["curves"];
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0]["test"], 1);
  EXPECT_NEAR(curves[0]["y"].back().get<double>(), 1, 1e-3);
  EXPECT_EQ(data["runs"][0]["record"]["tests"][1].value("histograms", nlohmann::json::object()).size(), 0U);
}

TEST(Thinning, KeepsExtremesAndOrder) {
  Points points;
  for (int i = 0; i < 10'000; ++i) points.emplace_back(i, i == 4321 ? 99 : i == 8765 ? -99 : std::sin(i));
  const Points few = thinned(points, 200);
  EXPECT_LE(few.size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(few, {}, &std::pair<double, double>::first));
  EXPECT_NE(std::ranges::find(few, std::pair(4321.0, 99.0)), few.end());
  EXPECT_NE(std::ranges::find(few, std::pair(8765.0, -99.0)), few.end());
  EXPECT_EQ(thinned(points, 10'000).size(), 10'000U);
}

// The page in headless Chromium.
class Page : public testing::Test {
 protected:
  void SetUp() override {
    if (report_page().empty())
      GTEST_SKIP() << "this build has no report page (Node.js and npm were not found)";
    root_ = fs::path(testing::TempDir()) / ("page-" + std::to_string(::getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }

  // The document after its scripts, preceded by what the browser said on the console. `driver` runs in the page.
  std::string render(const std::vector<HtmlRun>& runs, const std::string& driver = "") {
    std::string text = html(runs).value();
    text.insert(text.rfind("</body>"), "<script>" + driver + "</script>");
    const fs::path file = root_ / "report.html";
    std::ofstream(file, std::ios::binary) << text;
    const auto end = run_program(
        {"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--enable-logging=stderr", "--user-data-dir=" + (root_ / "profile").string(),
         "--virtual-time-budget=4000", "--window-size=1200,900", "--dump-dom", "file://" + file.string()},
        root_, 100s, 64U << 20U);
    if (!end) {
      ADD_FAILURE() << end.error().message;
      return "";
    }
    const std::string& messages = end->messages;
    EXPECT_EQ(messages.find(":CONSOLE"), std::string::npos)
        << messages.substr(messages.find(":CONSOLE"), 400);
    EXPECT_NE(messages.find("data-ready=\"true\""), std::string::npos) << messages.substr(0, 2000);
    return messages;
  }

  fs::path root_;
};

std::string cell(const char* figure, double value) {
  return std::string("data-value=\"") + json_number(value) + "\" data-figure=\"" + figure + "\"";
}

TEST_F(Page, ShowsTheRecordsFigures) {
  const stats::Record record = rich_record();
  const std::string page = render({{"run.json", record, nullptr}});
  for (const stats::TestRecord& test : record.tests) {
    EXPECT_NE(page.find(cell("p99", test.latency_s.p99)), std::string::npos) << test.name;
    EXPECT_NE(page.find(cell("p99.9", test.latency_s.p999)), std::string::npos) << test.name;
    EXPECT_NE(page.find(cell("mean", test.latency_s.mean)), std::string::npos) << test.name;
    EXPECT_NE(page.find(cell("rate", test.rate_per_s)), std::string::npos) << test.name;
  }
  for (const char* text : {"data-finding=\"too-few-samples\"", "zb -c 2 -n 100 http://localhost:5000",
                           "DL380 Gen9", "127.0.0.1:5000", "Who talked to whom", "unexpected_status",
                           "Errors and notes", "latency by percentile", "operations in each second"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

TEST_F(Page, ShowsForeignTextAsText) {
  stats::Record record = rich_record();
  record.tests[0].errors[0].sample.text =
      "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>";
  record.targets[0].server = "<b>server</b>";
  const std::string page = render({{"<i>run</i>", record, nullptr}});
  EXPECT_EQ(page.find("<b>server</b>"), std::string::npos);
  EXPECT_EQ(page.find("<img src"), std::string::npos);
  EXPECT_EQ(page.find("<i>run</i>"), std::string::npos);
  EXPECT_EQ(page.find("<title>owned"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;server&lt;/b&gt;"), std::string::npos);
}

TEST_F(Page, PlotsACampaignAndItsFindings) {
  Campaign campaign = campaign_of(6000);
  stats::Record record = campaign_record(campaign);
  record.findings = campaign_findings(campaign, record);
  ASSERT_FALSE(record.findings.empty());
  const std::string page = render({{"lab", record, &campaign}, {"again", record, &campaign}});
  for (const char* text :
       {"push: time by iteration", "pull: time by concurrency",
        "push: throughput by concurrency (estimated from concurrency and mean time)",
        "PUSH_TIME(CONCURRENCY)", "lab c=10", "again c=100", "concurrency-ceiling", "the row is left out"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

// Sorting, switching lines and zooming, by the keys and clicks that a reader has.
TEST_F(Page, SortsSwitchesAndZooms) {
  const Campaign campaign = campaign_of(600);
  const std::string page = render({{"lab", campaign_record(campaign), &campaign}}, R"js(
    const log = (name, value) => document.body.setAttribute("data-" + name, value);
    const head = [...document.querySelectorAll("#summary th button")].find((b) => b.textContent === "p99");
    const values = () => [...document.querySelectorAll("#summary td[data-figure=p99]")].map((td) => Number(td.dataset.value));
    head.click();
    log("rising", String(values().every((v, i, all) => i === 0 || all[i - 1] <= v)));
    head.click();
    log("falling", String(values().every((v, i, all) => i === 0 || all[i - 1] >= v)));
    const line = document.querySelector(".u-legend .u-series:nth-child(2) th");
    line.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    log("switched", line.getAttribute("aria-checked") + line.closest("tr").classList.contains("u-off"));
    const area = document.querySelector(".plot .area");
    area.focus();
    for (const key of ["ArrowRight", "ArrowRight", "+", "-", "0", "ArrowLeft"]) {
      area.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    }
    log("focused", String(document.activeElement === area));
    window.dispatchEvent(new Event("beforeprint"));
    window.dispatchEvent(new Event("afterprint"));
    log("plots", String(document.querySelectorAll(".plot canvas").length));
  )js");
  EXPECT_NE(page.find("data-rising=\"true\""), std::string::npos);
  EXPECT_NE(page.find("data-falling=\"true\""), std::string::npos);
  EXPECT_NE(page.find("data-switched=\"falsetrue\""), std::string::npos);
  EXPECT_NE(page.find("data-focused=\"true\""), std::string::npos);
  EXPECT_NE(page.find("data-plots=\"8\""), std::string::npos);
}

TEST_F(Page, AMillionOperationsStaySmall) {
  const Campaign campaign = campaign_of(1'000'000);
  const auto text = html({{"lab", campaign_record(campaign), &campaign}});
  ASSERT_TRUE(text);
  EXPECT_LT(text->size(), 5'000'000U);
  const std::string page = render({{"lab", campaign_record(campaign), &campaign}}, R"js(
    document.body.setAttribute("data-ms", String(performance.now() | 0));
  )js");
  EXPECT_NE(page.find("data-ms=\""), std::string::npos);
}

TEST(Html, SaysThatThePageIsMissing) {
  const auto text = html({}, "");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("made without Node.js"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::report
