#include "report/compare_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "report/campaign_table.h"
#include "report/statistics.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kFewestInBlock = 10;
constexpr std::size_t kFewestSeconds = 8;

const CampaignSeries* series_of(const CompareSide& side, const stats::TestRecord& test) {
  if (!side.campaign) return nullptr;
  for (const CampaignSeries& series : side.campaign->series) {
    if (belongs(series, test)) return &series;
  }
  return nullptr;
}

// The steady part of raw times, in order of completion.
std::vector<double> raw_blocks(const CampaignSeries& series, const std::string& figure) {
  std::span<const double> times(series.seconds);
  const auto wave = static_cast<std::size_t>(series.concurrency > 1 ? series.concurrency : 0);
  if (times.size() > 2 * wave) times = times.subspan(wave);
  const std::size_t fewest = figure == "p99" ? 100 : kFewestInBlock;
  const std::size_t blocks = std::min(kBlocksPerRun, times.size() / fewest);
  std::vector<double> out;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t first = times.size() * i / blocks;
    const auto block = times.subspan(first, times.size() * (i + 1) / blocks - first);
    std::vector<double> copy(block.begin(), block.end());
    if (figure == "mean") out.push_back(mean(block));
    if (figure == "rate" && mean(block) > 0) out.push_back(series.concurrency / mean(block));
    if (figure == "p50")
      out.push_back(median(std::move(copy)));
    else if (figure == "p90")
      out.push_back(quantile(std::move(copy), 0.9));
    else if (figure == "p99")
      out.push_back(quantile(std::move(copy), 0.99));
  }
  return out;
}

double of_second(const stats::SeriesPoint& point, const std::string& figure) {
  const auto ended = static_cast<double>(point.ok + point.failed);
  if (figure == "rate") return ended;
  if (figure == "errors") return ended > 0 ? static_cast<double>(point.failed) / ended : 0;
  return figure == "p50" ? point.p50_s : point.p99_s;
}

// The last second is left out: it may be cut short.
std::vector<double> second_blocks(const stats::TestRecord& test, const std::string& figure) {
  if (test.series.size() < kFewestSeconds + 1) return {};
  if (figure != "rate" && figure != "errors" && figure != "p50" && figure != "p99") return {};
  std::vector<double> values;
  for (std::size_t i = 0; i + 1 < test.series.size(); ++i)
    values.push_back(of_second(test.series[i], figure));
  return block_means(values, kBlocksPerRun);
}

}  // namespace

std::vector<ComparedTest> compared_tests(const CompareSide& side, bool with_target) {
  std::vector<ComparedTest> out;
  for (const stats::Record& record : side.records) {
    for (const stats::TestRecord& test : record.tests) {
      std::string name = test.name;
      if (with_target) name = fmt::format("{} {}", test.target, name);
      if (test.concurrency > 0) name += fmt::format(" c={}", test.concurrency);
      auto known = std::ranges::find(out, name, &ComparedTest::name);
      if (known == out.end()) known = out.insert(out.end(), ComparedTest{name, {}});
      known->runs.push_back({&test, series_of(side, test)});
    }
  }
  return out;
}

std::vector<double> repeat_values(const ComparedTest& test, const std::string& figure) {
  std::vector<double> out;
  for (const ComparedRun& run : test.runs) {
    const auto found = find_figure(*run.test, figure);
    if (found && found->known) out.push_back(found->value);
  }
  return out;
}

std::vector<double> block_values(const ComparedTest& test, const std::string& figure) {
  std::vector<double> out;
  for (const ComparedRun& run : test.runs) {
    const auto blocks =
        run.series != nullptr ? raw_blocks(*run.series, figure) : second_blocks(*run.test, figure);
    out.insert(out.end(), blocks.begin(), blocks.end());
  }
  return out;
}

}  // namespace plimsoll::report
