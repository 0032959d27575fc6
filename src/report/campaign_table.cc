#include "report/campaign_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/csv.h"
#include "report/markdown.h"
#include "report/plain.h"
#include "stats/percentile.h"

namespace plimsoll::report {
namespace {

double mean_of(const std::vector<double>& values) {
  const long double sum = std::accumulate(values.begin(), values.end(), 0.0L);
  return static_cast<double>(sum / static_cast<long double>(values.size()));
}

CampaignRow row_of(const CampaignSeries& series) {
  std::vector<double> sorted = series.seconds;
  std::ranges::sort(sorted);
  return {series.target,  series.action,           series.concurrency,
          series.repeat,  sorted.size(),           sorted.back(),
          sorted.front(), mean_of(series.seconds), stats::percentile_linear(sorted, 0.9)};
}

bool has_repeats(const std::vector<CampaignRow>& rows) {
  return std::ranges::any_of(rows, [](const CampaignRow& row) { return row.repeat > 0; });
}

bool same_table(const CampaignRow& a, const CampaignRow& b) {
  return a.target == b.target && a.action == b.action;
}

std::string upper(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::vector<std::string> cells(const CampaignRow& row, bool repeats) {
  std::vector<std::string> out = {fmt::format("{}", row.concurrency)};
  if (repeats) out.push_back(fmt::format("{}", row.repeat));
  for (const double value : {row.maximum, row.minimum, row.average, row.p90})
    out.push_back(ten_digits(value));
  return out;
}

std::vector<std::string> header(bool repeats) {
  std::vector<std::string> out = {"Concurrency"};
  if (repeats) out.emplace_back("Repeat");
  out.insert(out.end(), {"Maximum", "Minimum", "Average", "Percentile 90%"});
  return out;
}

std::string line(const std::vector<std::string>& columns) {
  std::string out;
  for (std::size_t i = 0; i < columns.size(); ++i) out += (i > 0 ? "\t" : "") + columns[i];
  return out + "\n";
}

constexpr std::string_view kNote =
    "Seconds. Percentiles interpolate linearly between the two nearest samples.";

// Hands over the rows of each table, which stand together.
template <class Each>
void for_each_table(const std::vector<CampaignRow>& rows, Each each) {
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first;
    while (last < rows.size() && same_table(rows[first], rows[last])) ++last;
    each(std::vector<CampaignRow>(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                  rows.begin() + static_cast<std::ptrdiff_t>(last)));
    first = last;
  }
}

std::string title(const CampaignRow& row) {
  return fmt::format("{}_TIME(CONCURRENCY), {}", upper(printable(row.action)), printable(row.target));
}

}  // namespace

std::vector<CampaignRow> campaign_rows(const Campaign& campaign) {
  std::vector<CampaignRow> rows;
  rows.reserve(campaign.series.size());
  for (const CampaignSeries& series : campaign.series) rows.push_back(row_of(series));
  return rows;
}

std::string ten_digits(double value) {
  return fmt::format("{:.10g}", value);
}

std::string campaign_csv(const std::vector<CampaignRow>& rows) {
  const bool repeats = has_repeats(rows);
  std::vector<std::string> names = {"target",  "action",  "concurrency", "iterations",
                                    "maximum", "minimum", "average",     "p90"};
  if (repeats) names.emplace_back("repeat");
  std::string out = csv_row(names);
  for (const CampaignRow& row : rows) {
    std::vector<std::string> fields = {row.target, row.action, fmt::format("{}", row.concurrency),
                                       fmt::format("{}", row.iterations)};
    for (const double value : {row.maximum, row.minimum, row.average, row.p90})
      fields.push_back(ten_digits(value));
    if (repeats) fields.push_back(fmt::format("{}", row.repeat));
    out += csv_row(fields);
  }
  return out;
}

std::string campaign_text(const Campaign& campaign) {
  const std::vector<CampaignRow> rows = campaign_rows(campaign);
  const bool repeats = has_repeats(rows);
  std::string out;
  for_each_table(rows, [&](const std::vector<CampaignRow>& table) {
    std::string lines = line(header(repeats));
    for (const CampaignRow& row : table) lines += line(cells(row, repeats));
    out += title(table.front()) + "\n" + align_tabs(lines) + "\n";
  });
  out += std::string(kNote) + "\n";
  if (!campaign.problems.empty()) out += "\nNot sound:\n";
  for (const CampaignProblem& problem : campaign.problems) out += problem.message() + "\n";
  return out;
}

std::string campaign_markdown(const Campaign& campaign) {
  const std::vector<CampaignRow> rows = campaign_rows(campaign);
  const bool repeats = has_repeats(rows);
  std::string out;
  for_each_table(rows, [&](const std::vector<CampaignRow>& table) {
    std::vector<std::vector<std::string>> lines;
    for (const CampaignRow& row : table) lines.push_back(cells(row, repeats));
    out += fmt::format("## {}\n\n{}\n", markdown_text(title(table.front())),
                       markdown_table(header(repeats), lines, 0));
  });
  out += std::string(kNote) + "\n";
  if (!campaign.problems.empty()) out += "\n## Not sound\n\n";
  for (const CampaignProblem& problem : campaign.problems)
    out += "- " + markdown_text(problem.message()) + "\n";
  return out;
}

bool belongs(const CampaignSeries& series, const stats::TestRecord& test) {
  if (!test.samples_file.empty()) return test.samples_file == series.file;
  return test.target == series.target && test.action == series.action &&
         test.concurrency == series.concurrency && test.repeat == series.repeat;
}

void name_by_record(Campaign& campaign, const stats::Record& record) {
  for (CampaignSeries& series : campaign.series) {
    for (const stats::TestRecord& test : record.tests) {
      if (test.samples_file.empty() || test.samples_file != series.file) continue;
      if (!test.name.empty()) series.action = test.name;
      if (!test.target.empty()) series.target = test.target;
    }
  }
}

stats::Record campaign_record(const Campaign& campaign) {
  stats::Record record;
  record.command = campaign.name;
  for (const CampaignSeries& series : campaign.series) {
    stats::TestRecord test;
    test.name = series.action;
    test.target = series.target;
    test.action = series.action;
    test.concurrency = series.concurrency;
    test.repeat = series.repeat;
    test.samples_file = series.file;
    std::vector<std::int64_t> nanoseconds;
    nanoseconds.reserve(series.seconds.size());
    for (const double seconds : series.seconds) nanoseconds.push_back(std::llround(seconds * 1e9));
    test.latency_s = stats::summarize(nanoseconds);
    test.operations.started = test.operations.ok = series.seconds.size();
    if (test.latency_s.mean > 0) {
      test.rate_per_s = series.concurrency / test.latency_s.mean;
      test.phases_s.measure = static_cast<double>(series.seconds.size()) / test.rate_per_s;
    }
    test.details["rate"] = "estimated";
    const auto known = std::ranges::find(record.targets, series.target, &stats::Target::name);
    if (known == record.targets.end())
      record.targets.push_back(
          {.name = series.target, .url = "", .addresses = {}, .protocol = "", .server = "", .tls = ""});
    record.tests.push_back(std::move(test));
  }
  return record;
}

}  // namespace plimsoll::report
