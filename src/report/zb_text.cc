#include "report/zb_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "report/more_text.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::LatencySummary;
using stats::Record;
using stats::StepRecord;
using stats::TestRecord;

std::string duration(double seconds) {
  return go_duration(nanos(seconds));
}

double time_taken(const TestRecord& test) {
  const auto legacy = test.details.find("legacy_time_s");
  if (legacy == test.details.end()) return test.phases_s.measure;
  return parse_double(legacy->second).value_or(test.phases_s.measure);
}

std::uint64_t share(const TestRecord& test, std::string_view word) {
  for (const auto& [name, count] : test.mix) {
    if (name == word) return count;
  }
  return 0;
}

// zb's own mixes; those of pulled images are in the lines that follow zb's.
bool share_is_of_sizes(const TestRecord& test) {
  return std::ranges::any_of(test.mix, [](const auto& m) { return m.first == "1MB" || m.first == "10MB"; });
}

std::string mix_lines(const TestRecord& test) {
  const bool by_type =
      std::ranges::any_of(test.mix, [](const auto& m) { return m.first == "Pull" || m.first == "Push"; });
  std::string out;
  if (by_type) {
    out += fmt::format("Pull:\t{}\nPush:\t{}\n\n", share(test, "Pull"), share(test, "Push"));
  } else if (share_is_of_sizes(test) || test.name == "Get Catalog") {
    out += fmt::format("1MB:\t{}\n10MB:\t{}\n100MB:\t{}\n\n", share(test, "1MB"), share(test, "10MB"),
                       share(test, "100MB"));
  }
  return out;
}

std::string status_lines(const TestRecord& test) {
  std::map<int, std::uint64_t> classes;
  for (const auto& [status, count] : test.statuses) {
    if (status >= 200 && status < 600) classes[status / 100] += count;
  }
  std::string out;
  for (const auto& [digit, count] : classes) out += fmt::format("{}xx responses:\t{}\n", digit, count);
  return out + "\n";
}

// Go's index of a percentile over ascending times is the upper one; the record's nearest rank is the contract
// now.
std::string percentile_lines(const LatencySummary& times, std::string_view prefix) {
  return fmt::format("{0}p50:\t{1}\n{0}p75:\t{2}\n{0}p90:\t{3}\n{0}p99:\t{4}\n\n", prefix,
                     duration(times.p50), duration(times.p75), duration(times.p90), duration(times.p99));
}

bool pulls(const TestRecord& test) {
  return test.action == "pull" || test.action == "sync" || test.name.starts_with("Pull") ||
         test.name.starts_with("On-demand Sync");
}

std::string ttfb_lines(const TestRecord& test) {
  std::string out;
  for (const ZbStep& wanted : kZbSteps) {
    const auto step = std::ranges::find(test.steps, wanted.step, &StepRecord::name);
    const LatencySummary times = step == test.steps.end() ? LatencySummary{} : step->ttfb_s;
    out += percentile_lines(times, fmt::format("{} TTFB ", wanted.label));
  }
  return out;
}

}  // namespace

float zb_rate(const TestRecord& test) {
  if (completed(test) == 0) return 0;
  return static_cast<float>(completed(test)) / static_cast<float>(time_taken(test));
}

std::string zb_header(const Record& record) {
  std::string out =
      fmt::format("Registry URL:\t{}\n", record.targets.empty() ? "" : printable(record.targets[0].url));
  if (!record.upstream_url.empty())
    out += fmt::format("Upstream Registry URL:\t{}\n", printable(record.upstream_url));
  out += fmt::format("Concurrency Level:\t{}\n", record.load.concurrency);
  if (record.load.requests > 0) out += fmt::format("Total requests:\t{}\n", record.load.requests);
  if (record.load.duration_s > 0) out += fmt::format("Duration:\t{}\n", duration(record.load.duration_s));
  if (record.load.mode == "open") out += fmt::format("Rate:\t{:.6g}/s\n", record.load.rate);
  out += fmt::format("Working dir:\t{}\n\n", printable(record.working_dir));
  for (const std::string& name : record.skipped) out += fmt::format("Skipping test {}\n", name);
  return align_tabs(out + "Preparing test data ...\nStarting tests ...\n");
}

std::string zb_lines(const TestRecord& test) {
  std::string out = fmt::format(
      "============\nTest name:\t{}\nTime taken for tests:\t{}\nRequests per second:\t{}\n"
      "Complete requests:\t{}\nFailed requests:\t{}\n",
      test.name, duration(time_taken(test)), go_float32(zb_rate(test)), test.operations.ok,
      test.operations.failed);
  for (const stats::ErrorCount& error : test.errors) {
    out += fmt::format("Error\t{} count:\t{}\n", error.kind, error.count);
  }
  out += "\n" + mix_lines(test) + status_lines(test);
  out += fmt::format("min: {}\nmax: {}\n", duration(test.latency_s.min), duration(test.latency_s.max));
  out += percentile_lines(test.latency_s, "");
  if (pulls(test)) out += ttfb_lines(test);
  return align_tabs(out);
}

std::string zb_test_block(const TestRecord& test) {
  return zb_lines(test) + more_lines(test);
}

}  // namespace plimsoll::report
