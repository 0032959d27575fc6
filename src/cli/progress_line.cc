#include "cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/units.h"

namespace plimsoll::cli {
namespace {

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

// Of the measure phase: by count, by time, whichever ends first.
double seconds_left(const load::Progress& progress) {
  double left = -1;
  const auto done = static_cast<double>(progress.ok + progress.failed);
  if (progress.requests > 0 && done > 0 && progress.elapsed_s > 0) {
    left = (static_cast<double>(progress.requests) - done) * progress.elapsed_s / done;
  }
  if (progress.duration_s > 0) {
    const double by_time = progress.duration_s - progress.elapsed_s;
    left = left < 0 ? by_time : std::min(left, by_time);
  }
  return std::max(left, -1.0);
}

// "12s", "3m 20s", "2h 5m"
std::string rough_time(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string progress_text(std::string_view test, const load::Progress& progress,
                          std::optional<double> after_s) {
  std::string line = fmt::format("{}  {}", test, progress.phase);
  if (progress.phase != "measure" && progress.phase != "drain") {
    return line + fmt::format("  {:.0f}s", progress.elapsed_s);
  }
  const std::uint64_t done = progress.ok + progress.failed;
  if (progress.requests > 0) {
    line += fmt::format("  {}/{} ({}%)", done, progress.requests, done * 100 / progress.requests);
  } else {
    line += fmt::format("  {}", done);
  }
  if (const double left = seconds_left(progress); left >= 0) {
    line += fmt::format("  left {}", rough_time(left));
    if (after_s) line += fmt::format(", in all {}", rough_time(left + *after_s));
  }
  line += fmt::format("  {:.0f}/s  p50 {}  p99 {}  errors {}", progress.rate_per_s,
                      human_duration(progress.p50_s), human_duration(progress.p99_s), progress.failed);
  if (progress.elapsed_s > 0) {
    line += fmt::format("  {}/s", human_size(static_cast<double>(progress.bytes) / progress.elapsed_s));
  }
  return line + fmt::format("  in flight {}", progress.in_progress);
}

ProgressLine::ProgressLine() : shown_(isatty(STDERR_FILENO) != 0) {}

load::Watch ProgressLine::watch(std::string test, std::optional<double> after_s) {
  if (!shown_) return nullptr;
  return [this, test = std::move(test), after_s](const load::Progress& progress) {
    show(test, progress, after_s);
  };
}

void ProgressLine::show(std::string_view test, const load::Progress& progress,
                        std::optional<double> after_s) {
  fmt::print(stderr, "\r\033[K{}", progress_text(test, progress, after_s).substr(0, terminal_width() - 1));
  std::fflush(stderr);
  dirty_ = true;
}

void ProgressLine::wipe() {
  if (!dirty_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  dirty_ = false;
}

}  // namespace plimsoll::cli
