// Ctrl-C: the first asks the run to end and report, the second ends the program at once.
#pragma once

#include <thread>

#include "load/stop.h"

namespace plimsoll::cli {

// Listens on a thread of its own while it lives. SIGINT and SIGTERM are blocked from construction on, in the calling
// thread and in all that it starts, so that only the listener takes them.
class InterruptListener {
 public:
  explicit InterruptListener(load::StopSignal& stop);
  InterruptListener(const InterruptListener&) = delete;
  InterruptListener& operator=(const InterruptListener&) = delete;
  ~InterruptListener() = default;

 private:
  std::jthread thread_;
};

}  // namespace plimsoll::cli
