#include "cli/result_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "report/campaign_table.h"
#include "report/findings.h"
#include "stats/record_json.h"

namespace plimsoll::cli {
namespace {

Checked<stats::Record> read_record(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Refusal{fmt::format("'{}' cannot be read", path.string())};
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto record = stats::from_json(text);
  if (!record) return Refusal{fmt::format("{}: {}", path.string(), record.error().message)};
  return record;
}

// A target's folder inside of a campaign's has its tests in the record beside it, with all that raw times lack
// (failures, measured rates). Nullopt where there is no such record.
std::optional<stats::Record> record_of_target(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  if (error || !fs::exists(whole.parent_path() / "result.json", error)) return std::nullopt;
  auto record = read_record(whole.parent_path() / "result.json");
  if (!record) {
    fmt::print(stderr, "plimsoll: {}; only raw times are read\n", record.error().message);
    return std::nullopt;
  }
  const std::string target = whole.filename().string();
  const std::string prefix = target + "/";
  std::erase_if(record->tests, [&](const stats::TestRecord& test) {
    return test.target != target || !test.samples_file.starts_with(prefix);
  });
  if (record->tests.empty()) return std::nullopt;
  for (stats::TestRecord& test : record->tests) test.samples_file.erase(0, prefix.size());
  std::erase_if(record->targets, [&](const stats::Target& one) { return one.name != target; });
  std::erase_if(record->peers, [&](const stats::Peer& one) { return one.target != target; });
  record->findings.clear();
  return std::move(*record);
}

}  // namespace

Checked<ResultInput> read_result(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  ResultInput input{.name = fs::path(path).filename().string(), .record = {}, .campaign = {}};
  if (input.name.empty()) input.name = fs::path(path).parent_path().filename().string();
  if (!fs::exists(path, error)) return Refusal{fmt::format("'{}' does not exist", path)};
  if (!fs::is_directory(path, error)) {
    auto record = read_record(path);
    if (!record) return record.error();
    input.record = std::move(*record);
    return input;
  }
  auto campaign = report::read_campaign(path);
  const fs::path own = fs::path(path) / "result.json";
  const bool has_record = fs::exists(own, error);
  if (!campaign && !has_record) return campaign.error();
  if (campaign) {
    for (const auto& problem : campaign->problems) fmt::print(stderr, "plimsoll: {}\n", problem.message());
    input.record = report::campaign_record(*campaign);
    input.campaign = std::move(*campaign);
  }
  if (has_record) {
    auto record = read_record(own);
    if (!record) return record.error();
    input.record = std::move(*record);
    if (input.campaign) report::name_by_record(*input.campaign, input.record);
    for (const stats::TestRecord& test : input.record.tests) {
      if (!test.samples_file.empty() && !fs::exists(fs::path(path) / test.samples_file, error))
        fmt::print(stderr, "plimsoll: {}: the raw times that the record names are missing\n",
                   test.samples_file);
    }
  }
  if (input.campaign && !has_record) {
    if (auto record = record_of_target(path)) {
      input.record = std::move(*record);
      report::name_by_record(*input.campaign, input.record);
      input.record.findings = report::record_findings(input.record);
    }
  }
  if (input.campaign && (!has_record || input.record.findings.empty())) {
    auto findings = report::campaign_findings(*input.campaign, input.record);
    std::ranges::move(input.record.findings, std::back_inserter(findings));
    input.record.findings = std::move(findings);
  }
  return input;
}

}  // namespace plimsoll::cli
