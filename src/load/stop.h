// The request to end a run early (Ctrl-C), between the thread that hears it and the threads that obey.
#pragma once

#include <atomic>
#include <cstddef>

namespace plimsoll::net {
class Loop;
}

namespace plimsoll::load {

class StopSignal {
 public:
  // Async-signal-safe: sets the flag and wakes the loops.
  void request();
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  friend class LoopEnrolment;
  static constexpr std::size_t kMost = 256;
  std::atomic<bool> requested_{false};
  std::atomic<net::Loop*> loops_[kMost]{};
};

// Has a loop woken by the signal for as long as this lives.
class LoopEnrolment {
 public:
  LoopEnrolment(StopSignal& signal, net::Loop& loop);
  LoopEnrolment(const LoopEnrolment&) = delete;
  LoopEnrolment& operator=(const LoopEnrolment&) = delete;
  ~LoopEnrolment();

 private:
  std::atomic<net::Loop*>* place_ = nullptr;
};

}  // namespace plimsoll::load
