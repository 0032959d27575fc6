#include "cli/result_input.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
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
  }
  if (input.campaign && input.record.findings.empty()) {
    input.record.findings = report::campaign_findings(*input.campaign, input.record);
  }
  return input;
}

}  // namespace plimsoll::cli
