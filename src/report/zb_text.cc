#include "report/zb_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/units.h"
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

std::string mix_lines(const TestRecord& test) {
  const bool by_type =
      std::ranges::any_of(test.mix, [](const auto& m) { return m.first == "Pull" || m.first == "Push"; });
  std::string out;
  if (by_type) {
    out += fmt::format("Pull:\t{}\nPush:\t{}\n\n", share(test, "Pull"), share(test, "Push"));
  } else if (!test.mix.empty() || test.name == "Get Catalog") {
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

std::string throughput(std::string_view direction, std::uint64_t wire, std::uint64_t body, double seconds) {
  if (seconds <= 0) return "";
  return fmt::format("Throughput {}:\t{}/s ({}/s of bodies)\n", direction,
                     human_size(static_cast<double>(wire) / seconds),
                     human_size(static_cast<double>(body) / seconds));
}

std::string spread_lines(const TestRecord& test) {
  const LatencySummary& times = test.latency_s;
  std::string out = fmt::format("mean:\t{}\nstddev:\t{}\np99.9:\t{}\n", duration(times.mean),
                                duration(times.stddev), duration(times.p999));
  if (!times.unsupported.empty()) {
    out += fmt::format("too few samples for:\t{} (of {} good requests)\n", join(times.unsupported, ", "),
                       times.count);
  }
  return out + "\n";
}

std::string phase_lines(const stats::Phases& phases) {
  return fmt::format("Phases:\tprepare {}, setup {}, warmup {}, measure {}, drain {}, cleanup {}\n",
                     duration(phases.prepare), duration(phases.setup), duration(phases.warmup),
                     duration(phases.measure), duration(phases.drain), duration(phases.cleanup));
}

std::string open_loop_lines(const TestRecord& test) {
  if (!test.open_loop) return "";
  const stats::OpenLoop& loop = *test.open_loop;
  return fmt::format(
      "Rate offered, sent, completed:\t{:.6g}/s, {:.6g}/s, {:.6g}/s\n"
      "Backlog:\tat most {} requests, oldest {}\n"
      "Service time:\tp50 {}, p99 {}, p99.9 {}\n"
      "Schedule lag:\tp50 {}, p99 {}, p99.9 {}\n",
      loop.offered_per_s, loop.sent_per_s, loop.completed_per_s, loop.backlog_max,
      duration(loop.backlog_age_max_s), duration(test.service_s.p50), duration(test.service_s.p99),
      duration(test.service_s.p999), duration(test.checks.schedule_lag_p50_s),
      duration(test.checks.schedule_lag_p99_s), duration(test.checks.schedule_lag_p999_s));
}

std::string mix_shares(const TestRecord& test) {
  if (test.mix.empty()) return "";
  std::uint64_t total = 0;
  for (const auto& [name, count] : test.mix) total += count;
  std::vector<std::string> shares;
  shares.reserve(test.mix.size());
  for (const auto& [name, count] : test.mix) {
    shares.push_back(
        fmt::format("{} {}", name, percent(static_cast<double>(count), static_cast<double>(total))));
  }
  return fmt::format("Shares:\t{}\n", join(shares, ", "));
}

std::string part_lines(const TestRecord& test) {
  std::string out;
  for (const auto& [name, times] : test.parts) {
    out += fmt::format("Part {}:\t{} requests, min {}, p50 {}, p90 {}, p99 {}, max {}\n", name, times.count,
                       duration(times.min), duration(times.p50), duration(times.p90), duration(times.p99),
                       duration(times.max));
  }
  return out;
}

std::string counted_lines(const std::vector<stats::ErrorCount>& counts, std::string_view label) {
  std::string out;
  for (const stats::ErrorCount& entry : counts) {
    out += fmt::format("{} {}:\t{}", label, entry.kind, entry.count);
    const std::string sample = sample_text(entry.sample);
    out += sample.empty() ? "\n" : fmt::format(", such as {}\n", sample);
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

std::string zb_more(const TestRecord& test) {
  std::string out = spread_lines(test);
  const double seconds = test.phases_s.measure;
  out += throughput("sent", test.bytes.sent, test.bytes.body_sent, seconds);
  out += throughput("received", test.bytes.received, test.bytes.body_received, seconds);
  out += open_loop_lines(test);
  if (!test.upload.empty()) out += fmt::format("Upload:\t{}\n", test.upload);
  out += mix_shares(test) + part_lines(test);
  out += fmt::format("Connections:\t{} opened, {} reused, {} reconnected\n", test.connections.opened,
                     test.connections.reused, test.connections.reconnected);
  out += phase_lines(test.phases_s);
  if (test.operations.aborted > 0) {
    out += fmt::format("Aborted:\t{} of {} started, cut off at an age of up to {}\n", test.operations.aborted,
                       test.operations.started, duration(test.aborted_age_s.max));
  }
  out += counted_lines(test.errors, "Failed by") + counted_lines(test.notes, "Note");
  for (const std::string& check : test.checks.failed)
    out += fmt::format("Check failed:\t{}\n", printable(check));
  return align_tabs(out + "\n");
}

std::string zb_test_block(const TestRecord& test) {
  return zb_lines(test) + zb_more(test);
}

}  // namespace plimsoll::report
