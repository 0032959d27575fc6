#include "report/more_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::LatencySummary;
using stats::TestRecord;

std::string duration(double seconds) {
  return go_duration(nanos(seconds));
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
  constexpr std::size_t kShown = 20;
  if (test.mix.empty()) return "";
  std::uint64_t total = 0;
  for (const auto& [name, count] : test.mix) total += count;
  std::vector<std::string> shares;
  shares.reserve(test.mix.size());
  for (const auto& [name, count] : test.mix) {
    if (shares.size() == kShown) {
      shares.push_back(fmt::format("and {} more", test.mix.size() - kShown));
      break;
    }
    shares.push_back(
        fmt::format("{} {}", name, percent(static_cast<double>(count), static_cast<double>(total))));
  }
  return fmt::format("Shares:\t{}\n", join(shares, ", "));
}

// What pulls of images that were there already pulled, and how.
std::string image_lines(const TestRecord& test) {
  const auto detail = [&test](const char* key) {
    const auto at = test.details.find(key);
    return at == test.details.end() ? std::string() : at->second;
  };
  const std::string images = detail("images");
  if (images.empty()) return "";
  std::string out = fmt::format("Images:\t{}, as {}, platform {}, order {}, clients {}\n", images,
                                detail("client"), detail("platform"), detail("order"), detail("clients"));
  if (const std::string skipped = detail("skipped_foreign"); !skipped.empty())
    out += fmt::format("Foreign layers left out:\t{}\n", skipped);
  return out;
}

// How pushes uploaded, and what came of their mounts.
std::string push_lines(const TestRecord& test) {
  std::string out;
  if (!test.upload.empty()) out += fmt::format("Upload:\t{}\n", test.upload);
  if (const auto refused = test.details.find("upload_refused"); refused != test.details.end())
    out += fmt::format("Upload refused:\t{}\n", printable(refused->second));
  const auto mount = test.details.find("mount");
  if (mount == test.details.end()) return out;
  out += fmt::format("Mounts ({}):\t", mount->second);
  std::vector<std::string> answers;
  for (const stats::StepRecord& step : test.steps) {
    if (step.name != "mount POST") continue;
    for (const auto& [status, count] : step.statuses)
      answers.push_back(fmt::format("{} answered {}", count, status));
  }
  return out + (answers.empty() ? "none\n" : join(answers, ", ") + "\n");
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

std::string more_lines(const TestRecord& test) {
  std::string out = spread_lines(test);
  const double seconds = test.phases_s.measure;
  out += throughput("sent", test.bytes.sent, test.bytes.body_sent, seconds);
  out += throughput("received", test.bytes.received, test.bytes.body_received, seconds);
  out += open_loop_lines(test);
  out += push_lines(test);
  out += image_lines(test) + mix_shares(test) + part_lines(test);
  out += fmt::format("Connections:\t{} opened, {} reused, {} reconnected\n", test.connections.opened,
                     test.connections.reused, test.connections.reconnected);
  const auto streams = test.details.find("streams");
  const auto connections = test.details.find("connections");
  if (streams != test.details.end() && connections != test.details.end()) {
    out += fmt::format("HTTP/2:\t{} requests at a time on each of {} connections\n", streams->second,
                       connections->second);
  }
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

}  // namespace plimsoll::report
