// Live progress on a terminal: one line on stderr that is written over, and wiped before anything else is printed.
#pragma once

#include <string>
#include <string_view>

#include "load/run.h"

namespace plimsoll::cli {

class ProgressLine {
 public:
  // Shows nothing where stderr is no terminal.
  ProgressLine();

  bool shown() const { return shown_; }
  load::Watch watch(std::string test);
  void wipe();

 private:
  void show(std::string_view test, const load::Progress& progress);
  bool shown_;
  bool dirty_ = false;
};

// "Pull 1MB  measure  37/100 (37%)  212/s  p50 3.1 ms  p99 8.0 ms  errors 0  38.2 MB/s  in flight 4  left 2s"
std::string progress_text(std::string_view test, const load::Progress& progress);

}  // namespace plimsoll::cli
