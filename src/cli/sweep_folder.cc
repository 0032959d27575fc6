#include "cli/sweep_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "report/campaign_table.h"
#include "report/closing.h"
#include "report/csv.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/plots.h"
#include "stats/record_json.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecord = "result.json";

void warn(const std::string& message) {
  fmt::print(stderr, "plimsoll: {}\n", message);
}

}  // namespace

Checked<void> SweepFolder::create() const {
  std::error_code error;
  fs::create_directories(root_, error);
  if (error || !fs::is_directory(root_, error))
    return Refusal{fmt::format("--out '{}': {}", root_.string(), error ? error.message() : "is no folder")};
  return {};
}

Checked<stats::Record> SweepFolder::earlier() const {
  std::error_code error;
  const fs::path path = root_ / kRecord;
  if (!fs::exists(path, error)) return stats::Record{};
  std::ifstream file(path, std::ios::binary);
  auto record = stats::from_json(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!record) return Refusal{fmt::format("{}: {}", path.string(), record.error().message)};
  return record;
}

bool SweepFolder::holds(const fs::path& csv) const {
  std::error_code error;
  return fs::exists(root_ / csv, error);
}

Checked<void> SweepFolder::write_whole(const fs::path& name, const std::string& text) const {
  const fs::path path = root_ / name;
  const fs::path unfinished = path.string() + ".part";
  std::ofstream file(unfinished, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(unfinished, path, error);
  if (!file || error) return Refusal{fmt::format("cannot write '{}'", path.string())};
  return {};
}

Checked<void> SweepFolder::write_samples(const fs::path& csv, std::vector<load::SampleFile>& samples) const {
  std::error_code error;
  fs::create_directories((root_ / csv).parent_path(), error);
  std::vector<load::SampleRow> rows = by_sequence(samples);
  std::ranges::sort(rows, {}, [](const load::SampleRow& row) { return std::pair(row.done, row.sequence); });
  std::string text = "iteration,spent_time\n";
  for (const load::SampleRow& row : rows) {
    if (row.error < 0) text += fmt::format("{},{:.9f}\n", row.sequence + 1, seconds(row.done - row.due));
  }
  return write_whole(csv, text);
}

Checked<void> SweepFolder::write_record(const stats::Record& record) const {
  return write_whole(kRecord, stats::to_json(record));
}

Checked<std::string> SweepFolder::finish(stats::Record& record) const {
  record.findings.clear();
  std::optional<report::Campaign> campaign;
  if (auto read = report::read_campaign(root_)) {
    campaign = std::move(*read);
    report::name_by_record(*campaign, record);
    record.findings = report::campaign_findings(*campaign, record);
  } else {
    warn(read.error().message);  // no operation was good
  }
  for (auto& finding : report::record_findings(record)) record.findings.push_back(std::move(finding));
  if (auto written = write_record(record); !written) return written.error();
  if (auto written = write_whole("summary.csv", report::csv(record)); !written) return written.error();
  std::string summary = report::markdown(record);
  if (campaign) summary = report::campaign_markdown(*campaign) + "\n" + summary;
  if (auto written = write_whole("summary.md", summary); !written) return written.error();
  const std::string name = fs::absolute(root_).lexically_normal().filename().string();
  if (auto page = report::html({{name, record, campaign ? &*campaign : nullptr}})) {
    if (auto written = write_whole("report.html", *page); !written) return written.error();
  } else {
    warn(page.error().message);
  }
  if (campaign) {
    const auto drawn = report::draw_plots(report::campaign_plots(*campaign, record), root_ / "plots");
    if (!drawn) warn(drawn.error().message);
  }
  return (campaign ? report::campaign_text(*campaign) : std::string()) + report::closing_lines(record);
}

}  // namespace plimsoll::cli
