#include "cli/run_common.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <openssl/crypto.h>
#include <sys/resource.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "stats/environment.h"

namespace plimsoll::cli {
namespace {

std::string utc_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

stats::Record begin_record(const std::string& command_line, std::uint64_t seed) {
  stats::Record record;
  record.tool_version = kVersion;
  record.command = command_line;
  record.seed = seed;
  record.started = utc_now();
  record.environment = stats::this_machine();
  record.environment.role = "generator";
  record.environment.versions = {{"plimsoll", std::string(kVersion)},
                                 {"openssl", OpenSSL_version(OPENSSL_VERSION)},
                                 {"glibc", gnu_get_libc_version()}};
  return record;
}

Checked<void> reserve_descriptors(int connections) {
  constexpr rlim_t kOurs = 64;  // files, loops, logs
  const rlim_t needed = static_cast<rlim_t>(connections) + kOurs;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= needed) return {};
  if (limit.rlim_max < needed) {
    return Refusal{
        fmt::format("-c {} needs {} file descriptors, but the limit is {}: raise it (ulimit -n) or lower -c",
                    connections, needed, limit.rlim_max)};
  }
  limit.rlim_cur = needed;
  setrlimit(RLIMIT_NOFILE, &limit);
  return {};
}

Checked<std::vector<report::ThresholdRule>> parse_rules(const std::vector<std::string>& fail_if) {
  std::vector<report::ThresholdRule> rules;
  for (const std::string& text : fail_if) {
    auto rule = report::parse_threshold(text);
    if (!rule) return Refusal{fmt::format("--fail-if: {}", rule.error().message)};
    rules.push_back(std::move(*rule));
  }
  return rules;
}

void evaluate_rules(const std::vector<report::ThresholdRule>& rules, stats::Record& record) {
  record.thresholds.clear();
  for (const auto& rule : rules) {
    for (auto& row : report::evaluate(rule, record)) record.thresholds.push_back(std::move(row));
  }
}

Exit verdict(const std::vector<report::ThresholdRule>& rules, const stats::Record& record) {
  bool connected = false;
  bool failed = false;
  for (const auto& test : record.tests) {
    connected = connected || test.connections.opened > 0;
    failed = failed || test.operations.failed > 0;
  }
  if (!record.tests.empty() && !connected) return Exit::usage;
  bool threshold_failed = false;
  for (const auto& threshold : record.thresholds) {
    if (threshold.pass) continue;
    threshold_failed = true;
    fmt::print(stderr, "plimsoll: --fail-if '{}' holds: {:.6g}\n", threshold.expression, threshold.observed);
  }
  if (threshold_failed) return Exit::threshold_failed;
  bool errors_are_judged = false;
  for (const auto& rule : rules) errors_are_judged = errors_are_judged || rule.speaks_of_errors();
  return failed && !errors_are_judged ? Exit::some_failed : Exit::good;
}

}  // namespace plimsoll::cli
