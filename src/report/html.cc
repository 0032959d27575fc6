#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/campaign_table.h"
#include "report/plain.h"
#include "report/thinning.h"
#include "stats/histogram.h"
#include "stats/record_json.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kMostPoints = 30'000;
constexpr std::string_view kDataPlace = "/*DATA*/";

// What stands between the tags of a script ends at "</", whatever its type: no '<' remains.
std::string for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// Two arrays beside each other, with a key each.
std::string columns(const char* x_key, const char* y_key, const Points& points, int digits) {
  std::string x;
  std::string y;
  for (const auto& [a, b] : points) {
    x += fmt::format("{}{:.{}g}", x.empty() ? "" : ",", a, digits);
    y += fmt::format("{}{:.{}g}", y.empty() ? "" : ",", b, digits);
  }
  return fmt::format("\"{}\":[{}],\"{}\":[{}]", x_key, x, y_key, y);
}

std::string series_json(const HtmlRun& run, const CampaignSeries& series, std::size_t most) {
  Points points;
  points.reserve(series.seconds.size());
  for (std::size_t i = 0; i < series.seconds.size(); ++i)
    points.emplace_back(series.iterations[i], series.seconds[i]);
  std::ranges::sort(points);
  const auto test = std::ranges::find_if(run.record.tests,
                                         [&](const stats::TestRecord& one) { return belongs(series, one); });
  const std::string& action = test == run.record.tests.end() ? series.action : test->action;
  return fmt::format(
      R"({{"target":{},"action":{},"name":{},"concurrency":{},"repeat":{},"operations":{},{}}})",
      json_string(series.target), json_string(action), json_string(series.action), series.concurrency,
      series.repeat, series.seconds.size(),
      columns("iterations", "seconds", thinned(std::move(points), most), 9));
}

const CampaignSeries* series_of(const HtmlRun& run, const stats::TestRecord& test) {
  if (run.campaign == nullptr) return nullptr;
  for (const CampaignSeries& series : run.campaign->series) {
    if (belongs(series, test)) return &series;
  }
  return nullptr;
}

Points histogram_curve(const stats::Histogram& times) {
  Points out;
  const auto n = static_cast<double>(times.count());
  double beyond = 1;
  while (beyond < n) {
    out.emplace_back(beyond, static_cast<double>(times.percentile(1 - 1 / beyond)) * 1e-9);
    beyond *= 1.1;
  }
  if (n > 0) out.emplace_back(n, static_cast<double>(times.max()) * 1e-9);
  return out;
}

Points curve_of(const HtmlRun& run, const stats::TestRecord& test) {
  if (const CampaignSeries* series = series_of(run, test)) {
    std::vector<double> sorted = series->seconds;
    std::ranges::sort(sorted);
    return percentile_curve(sorted);
  }
  const auto encoded = test.histograms.find("latency");
  if (encoded == test.histograms.end()) return {};
  const auto times = stats::Histogram::decode_v2(encoded->second);
  return times ? histogram_curve(*times) : Points{};
}

std::string table_json(const Campaign& campaign) {
  std::vector<std::string> rows;
  for (const CampaignRow& row : campaign_rows(campaign)) {
    rows.push_back(fmt::format(
        R"({{"target":{},"action":{},"concurrency":{},"repeat":{},"iterations":{},"maximum":{},"minimum":{},"average":{},"p90":{}}})",
        json_string(row.target), json_string(row.action), row.concurrency, row.repeat, row.iterations,
        json_number(row.maximum), json_number(row.minimum), json_number(row.average), json_number(row.p90)));
  }
  return join(rows, ",");
}

std::string run_json(const HtmlRun& run, std::size_t most) {
  std::vector<std::string> curves;
  for (std::size_t i = 0; i < run.record.tests.size(); ++i) {
    const Points curve = curve_of(run, run.record.tests[i]);
    if (!curve.empty()) curves.push_back(fmt::format("{{\"test\":{},{}}}", i, columns("x", "y", curve, 6)));
  }
  std::vector<std::string> series;
  std::vector<std::string> problems;
  if (run.campaign != nullptr) {
    for (const CampaignSeries& one : run.campaign->series) series.push_back(series_json(run, one, most));
    for (const CampaignProblem& problem : run.campaign->problems)
      problems.push_back(json_string(problem.message()));
  }
  stats::Record record = run.record;
  for (stats::TestRecord& test : record.tests) test.histograms.clear();
  return fmt::format(
      "{{\"name\":{},\"record\":{},\"series\":[{}],\"curves\":[{}],\"table\":[{}],\"problems\":[{}]}}",
      json_string(run.name), stats::to_json(record), join(series, ","), join(curves, ","),
      run.campaign == nullptr ? "" : table_json(*run.campaign), join(problems, ","));
}

}  // namespace

std::string page_data(const std::vector<HtmlRun>& runs) {
  std::size_t series = 1;
  for (const HtmlRun& run : runs) series += run.campaign == nullptr ? 0 : run.campaign->series.size();
  const std::size_t most = std::clamp<std::size_t>(kMostPoints / series, 100, 4'000);
  std::vector<std::string> parts;
  parts.reserve(runs.size());
  for (const HtmlRun& run : runs) parts.push_back(run_json(run, most));
  return "{\"runs\":[" + join(parts, ",") + "]}";
}

Checked<std::string> html(const std::vector<HtmlRun>& runs, std::string_view page) {
  const auto place = page.find(kDataPlace);
  if (place == std::string_view::npos) {
    return Refusal{
        "this build has no report page: it was made without Node.js and npm; install them and build again, "
        "or ask for "
        "-o md, csv, text or json"};
  }
  std::string out(page.substr(0, place));
  out += for_script(page_data(runs));
  out += page.substr(place + kDataPlace.size());
  return out;
}

}  // namespace plimsoll::report
