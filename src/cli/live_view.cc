#include "cli/live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "base/units.h"

namespace plimsoll::cli {
namespace {

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

// Of the measure phase: by count, by time, whichever ends first.
std::optional<double> seconds_left(const load::Progress& progress) {
  std::optional<double> left;
  const auto done = static_cast<double>(progress.ok + progress.failed);
  if (progress.requests > 0 && done > 0 && progress.elapsed_s > 0) {
    left = (static_cast<double>(progress.requests) - done) * progress.elapsed_s / done;
  }
  if (progress.duration_s > 0) {
    const double by_time = progress.duration_s - progress.elapsed_s;
    left = std::min(left.value_or(by_time), by_time);
  }
  return left ? std::optional(std::max(*left, 0.0)) : std::nullopt;
}

std::string percentile(const stats::Histogram& latencies, std::string_view name, double p) {
  if (latencies.count() == 0) return fmt::format("  {} -", name);
  return fmt::format("  {} {}", name, human_duration(static_cast<double>(latencies.percentile(p)) * 1e-9));
}

std::string short_rate(double per_second) {
  return per_second < 10'000 ? fmt::format("{:.0f}/s", per_second)
                             : fmt::format("{:.1f} k/s", per_second / 1000);
}

// "12s", "3m 20s", "2h 5m"
std::string rough_time(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
}

std::string headline(std::string_view test, const load::Progress& progress, std::optional<double> after_s) {
  std::string line = fmt::format("{}  {}", test, progress.phase);
  const std::uint64_t done = progress.ok + progress.failed;
  if (progress.requests > 0) {
    line += fmt::format("  {} of {} ({}%)", done, progress.requests, done * 100 / progress.requests);
  } else {
    line += fmt::format("  {}", done);
  }
  line += fmt::format("  {:.0f}s", progress.elapsed_s);
  const auto left = progress.phase == "measure" ? seconds_left(progress) : std::nullopt;
  if (!left) return line;
  line += fmt::format("  left {}", rough_time(*left));
  return after_s ? line + fmt::format(", in all {}", rough_time(*left + *after_s)) : line;
}

std::string last_second(const load::Progress& progress) {
  const stats::Histogram& latencies = progress.last_second;
  return fmt::format("  now  {}  {}/s  in flight {}", short_rate(progress.rate_per_s),
                     human_size(progress.bytes_per_s), progress.in_progress) +
         percentile(latencies, "p50", 0.5) + percentile(latencies, "p90", 0.9) +
         percentile(latencies, "p99", 0.99);
}

std::string whole_run(const load::Progress& progress) {
  std::string line = "  run";
  for (std::size_t i = 1; i < progress.statuses.size(); ++i) {
    if (progress.statuses[i] > 0) line += fmt::format("  {}xx {}", i, progress.statuses[i]);
  }
  line += fmt::format("  errors {}", progress.failed);
  std::string kinds;
  for (std::size_t i = 0; i < progress.errors.size(); ++i) {
    if (progress.errors[i] == 0) continue;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", name(static_cast<ErrorKind>(i)),
                         progress.errors[i]);
  }
  if (!kinds.empty()) line += " (" + kinds + ")";
  const stats::Histogram& latencies = progress.whole_run;
  return line + percentile(latencies, "p50", 0.5) + percentile(latencies, "p99", 0.99) +
         percentile(latencies, "p99.9", 0.999);
}

}  // namespace

std::string progress_text(std::string_view test, const load::Progress& progress,
                          std::optional<double> after_s) {
  if (progress.phase == "set up" || progress.phase == "clean up") {
    return fmt::format("{}  {}  {:.0f}s", test, progress.phase, progress.elapsed_s);
  }
  return headline(test, progress, after_s) + "\n" + last_second(progress) + "\n" + whole_run(progress);
}

LiveView::LiveView(MetricsEndpoint* metrics, bool quiet)
    : metrics_(metrics), shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

load::Watch LiveView::watch(std::string test, std::optional<double> after_s) {
  if (!shown_ && metrics_ == nullptr) return nullptr;
  return [this, test = std::move(test), after_s](const load::Progress& progress) {
    if (metrics_ != nullptr) metrics_->update(test, progress);
    if (shown_) show(test, progress, after_s);
  };
}

void LiveView::show(std::string_view test, const load::Progress& progress, std::optional<double> after_s) {
  wipe();
  const std::size_t width = terminal_width() - 1;
  for (const std::string_view line : split(progress_text(test, progress, after_s), '\n')) {
    fmt::print(stderr, "{}{}", lines_ == 0 ? "" : "\n", line.substr(0, width));
    ++lines_;
  }
  std::fflush(stderr);
}

void LiveView::wipe() {
  if (lines_ == 0) return;
  if (lines_ > 1) fmt::print(stderr, "\033[{}A", lines_ - 1);
  fmt::print(stderr, "\r\033[J");
  std::fflush(stderr);
  lines_ = 0;
}

}  // namespace plimsoll::cli
