#include "report/html.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
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
      const std::string file = "concurrency-" + std::to_string(level) + "/" + action + "_results.csv";
      CampaignSeries series{"lab", action, level, 0, file, {}, {}};
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
  std::string render(const std::vector<HtmlRun>& runs, const std::string& driver = "",
                     const std::vector<std::string>& more = {}) {
    std::string text = html(runs).value();
    text.insert(text.rfind("</body>"), "<script>" + driver + "</script>");
    const fs::path file = root_ / "report.html";
    std::ofstream(file, std::ios::binary) << text;
    std::vector<std::string> command = {"chromium",
                                        "--headless",
                                        "--no-sandbox",
                                        "--disable-gpu",
                                        "--disable-dev-shm-usage",
                                        "--enable-logging=stderr",
                                        "--user-data-dir=" + (root_ / "profile").string(),
                                        "--virtual-time-budget=4000",
                                        "--window-size=1200,900"};
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(), {"--dump-dom", "file://" + file.string()});
    const auto end = run_program(command, root_, 100s, 64U << 20U);
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

// Sorting, switching lines, values under the pointer and zooming, by the keys, clicks and drags that a reader has.
TEST_F(Page, SortsSwitchesAndZooms) {
  const Campaign campaign = campaign_of(600);
  const std::string page = render({{"lab", campaign_record(campaign), &campaign}}, R"js(
    const log = (name, value) => document.body.setAttribute("data-" + name, value);
    const turn = () => new Promise((done) => setTimeout(done, 50));
    const head = [...document.querySelectorAll("#summary th button")].find((b) => b.textContent === "p99");
    const values = () => [...document.querySelectorAll("#summary td[data-figure=p99]")].map((td) => Number(td.dataset.value));
    head.click();
    log("rising", String(values().every((v, i, all) => i === 0 || all[i - 1] <= v)));
    head.click();
    log("falling", String(values().every((v, i, all) => i === 0 || all[i - 1] >= v)));
    log("sorted", head.closest("th").getAttribute("aria-sort"));
    const area = document.querySelector(".plot .area");
    const shown = () => area.dataset.shown.split(" ").map(Number);
    const width = () => shown()[1] - shown()[0];
    const press = (key) => area.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const legend = () => [...area.querySelectorAll(".u-legend .u-value")].map((e) => e.textContent).join("|");
    (async () => {
      const line = area.querySelector(".u-legend .u-series:nth-child(2) th");
      line.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
      await turn();
      log("off", line.getAttribute("aria-checked") + line.closest("tr").classList.contains("u-off"));
      line.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
      await turn();
      log("on", line.getAttribute("aria-checked") + line.closest("tr").classList.contains("u-off"));
      area.focus();
      press("ArrowRight");
      await turn();
      const first = legend();
      press("ArrowRight");
      await turn();
      log("values", String(/\d/.test(first) && /\d/.test(legend()) && first !== legend()));
      log("focused", String(document.activeElement === area));
      const all = width();
      press("+");
      await turn();
      log("zoomed", String(width() < 0.6 * all));
      press("0");
      await turn();
      log("reset", String(width() === all));
      const over = area.querySelector(".u-over");
      const place = over.getBoundingClientRect();
      const mouse = (type, x, target = over) => target.dispatchEvent(new MouseEvent(type, {
        bubbles: true, button: 0, clientX: place.left + x * place.width, clientY: place.top + 60,
        movementX: 9, view: window }));
      mouse("mousemove", 0.25); mouse("mousedown", 0.25);
      await turn();
      mouse("mousemove", 0.5);
      await turn();
      mouse("mouseup", 0.5);
      await turn();
      log("dragged", String(width() < 0.6 * all));
      mouse("dblclick", 0.5);
      await turn();
      log("again", String(Math.abs(width() / all - 1) < 0.01));
      window.dispatchEvent(new Event("beforeprint"));
      window.dispatchEvent(new Event("afterprint"));
      log("plots", String(document.querySelectorAll(".plot canvas").length));
      log("tabbable", String([...document.querySelectorAll(".plot .area, .scroll")].every((e) => e.tabIndex === 0)));
      log("paper", getComputedStyle(document.body).backgroundColor);
    })();
  )js");
  for (const char* told :
       {"data-rising=\"true\"", "data-falling=\"true\"", "data-sorted=\"descending\"",
        "data-off=\"falsetrue\"", "data-on=\"truefalse\"", "data-values=\"true\"", "data-focused=\"true\"",
        "data-zoomed=\"true\"", "data-reset=\"true\"", "data-dragged=\"true\"", "data-again=\"true\"",
        "data-plots=\"8\"", "data-tabbable=\"true\"", "data-paper=\"rgb(255, 255, 255)\""}) {
    EXPECT_NE(page.find(told), std::string::npos) << told << " in " << page.substr(page.find("<body"), 600);
  }
}

TEST_F(Page, IsDarkWhereTheReaderWantsIt) {
  const std::string page = render({{"run", rich_record(), nullptr}}, R"js(
    document.body.setAttribute("data-paper", getComputedStyle(document.body).backgroundColor);
  )js",
                                  {"--blink-settings=preferredColorScheme=0"});
  EXPECT_NE(page.find("data-paper=\"rgb(20, 24, 29)\""), std::string::npos);
}

TEST_F(Page, PrintsOnPaper) {
  std::ofstream(root_ / "report.html", std::ios::binary) << html({{"run", rich_record(), nullptr}}).value();
  const auto end = run_program(
      {"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
       "--user-data-dir=" + (root_ / "profile").string(), "--virtual-time-budget=4000",
       "--print-to-pdf=" + (root_ / "report.pdf").string(), "file://" + (root_ / "report.html").string()},
      root_, 100s, 4U << 20U);
  ASSERT_TRUE(end) << end.error().message;
  std::ifstream file(root_ / "report.pdf", std::ios::binary);
  const std::string pdf(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(pdf.starts_with("%PDF-"));
  EXPECT_GT(pdf.size(), 20'000U) << "text, tables and plots";
}

// The figures on each line are those of the record: bytes of the steps that went there, round trips of its peer.
TEST_F(Page, DrawsWhoTalkedToWhom) {
  stats::Record record = rich_record();
  record.tests.resize(1);
  record.tests[0].target = "registry";
  record.tests[0].steps = {{"layer PUT", 5, {{201, 5}}, {}, {}, {7'000'000, 3000, 0, 0}},
                           {"token", 2, {{200, 2}}, {}, {}, {1500, 9000, 0, 0}},
                           {"storage", 2, {{200, 2}}, {}, {}, {800, 42'000'000, 0, 0}}};
  record.environment.network = {{"eth7", "", "25 Gb/s", {"10.0.0.9"}}};
  const auto peer = [](const char* part, const char* origin, const char* address, double mean) {
    return stats::Peer{part, "registry", origin, address, {"10.0.0.9"}, "", 3, {3, mean / 2, mean, mean * 2}};
  };
  record.peers = {
      peer("registry", "http://r:1", "10.0.0.1:1", 4e-4), peer("token", "http://t:2", "10.0.0.2:2", 8e-4),
      peer("storage", "https://s:3", "10.0.0.3:3", 6e-3), peer("upstream", "http://u:4", "10.0.0.4:4", 0.09)};
  record.peers[0].proxy = "10.0.0.5:3128";
  const std::string page = render({{"run", record, nullptr}});
  for (const char* text :
       {"data-bytes=\"registry registry\">7.00 MB sent, 3.00 kB received<",
        "data-round-trip=\"registry registry\">round trip 400 us, least 200 us<",
        "data-bytes=\"registry token\">1.50 kB sent, 9.00 kB received<",
        "data-round-trip=\"registry token\">round trip 800 us, least 400 us<",
        "data-bytes=\"registry storage\">800 B sent, 42.0 MB received<", ">token server<", ">storage origin<",
        ">upstream<", ">proxy<", ">10.0.0.5:3128<", "eth7 25 Gb/s 10.0.0.9", "class=\"unseen\""}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  record.peers.clear();
  EXPECT_EQ(render({{"run", record, nullptr}}).find("class=\"network\""), std::string::npos);
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
