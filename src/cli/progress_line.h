// Live progress on a terminal: one line on stderr that is written over, and wiped before anything else is printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "load/run.h"

namespace plimsoll::cli {

class ProgressLine {
 public:
  // Shows nothing where stderr is no terminal.
  ProgressLine();

  bool shown() const { return shown_; }
  // `after_s`: how long what comes after this test will take, where that is known.
  load::Watch watch(std::string test, std::optional<double> after_s = {});
  void wipe();

 private:
  void show(std::string_view test, const load::Progress& progress, std::optional<double> after_s);
  bool shown_;
  bool dirty_ = false;
};

// "Pull 1MB  measure  37/100 (37%)  left 2s  212/s  p50 3.1 ms  p99 8.0 ms  errors 0  38.2 MB/s  in flight 4"
// With what comes after it: "left 2s, in all 3m 20s".
std::string progress_text(std::string_view test, const load::Progress& progress,
                          std::optional<double> after_s = {});

}  // namespace plimsoll::cli
