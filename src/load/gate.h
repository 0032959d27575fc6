// What the engine threads of one run share: the barrier between phases, the count of operations, and how far each
// thread is. Everything here is touched between phases, or is one relaxed atomic an operation.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "load/plan.h"
#include "stats/histogram.h"
#include "stats/recorder.h"

namespace plimsoll::load {

// Who may start another operation: exactly `limit` are let in, over all threads, until `end`.
class Admission {
 public:
  void open(std::uint64_t limit, Instant end) {
    next_.store(0, std::memory_order_relaxed);
    limit_ = limit;
    end_ = end;
  }
  // The number of the operation; false when there is none left or the time is over.
  bool take(Instant now, std::uint64_t& sequence) {
    if (now >= end_) return false;
    if (limit_ == 0) {
      sequence = next_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    if (next_.load(std::memory_order_relaxed) >= limit_) return false;
    sequence = next_.fetch_add(1, std::memory_order_relaxed);
    return sequence < limit_;
  }
  Instant end() const { return end_; }

 private:
  alignas(64) std::atomic<std::uint64_t> next_{0};
  std::uint64_t limit_ = 0;
  Instant end_ = kNever;
};

// What one thread shows of itself while it runs.
struct Snapshot {
  stats::LiveView live;
  std::array<std::uint64_t, 6> statuses{};  // by class; [0] no answer
  std::array<std::uint64_t, kErrorKinds> errors{};
  stats::Histogram last_second;
  stats::Histogram whole_run;
};

enum class Phase : std::uint8_t { set_up, warm_up, measure, drain, clean_up, over };

class Gate {
 public:
  Gate(const Plan& plan, bool watched);

  // Waits for all threads; the last to arrive moves the run on to `next`, whose start is the same instant for all.
  void pass(Phase next);
  Instant phase_start(Phase phase) const { return starts_[static_cast<std::size_t>(phase)]; }
  Phase phase() const { return phase_.load(std::memory_order_relaxed); }

  // The first failure of a set-up ends the test for all threads.
  void fail(std::string why);
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  std::string failure() const;

  // In closed loop the end of the measure phase is the last completion of an exact number of operations.
  void completed(Instant last);
  Instant last_completion() const { return last_completion_; }

  Admission& warm_up_admission() { return warm_up_; }
  Admission& admission() { return measure_; }

  bool watched() const { return watched_; }
  void publish(int thread, const stats::Recorder& recorder, Instant now);
  std::vector<Snapshot> snapshots() const;

 private:
  struct OnPassed {
    Gate* gate;
    void operator()() noexcept { gate->passed(); }
  };
  void passed() noexcept;

  const Plan& plan_;
  bool watched_;
  std::atomic<Phase> phase_{Phase::set_up};
  std::atomic<Phase> next_{Phase::set_up};
  Instant starts_[6]{};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // set-up failures, completions and snapshots: never an operation
  std::string failure_;
  Instant last_completion_{};
  Admission warm_up_;
  Admission measure_;
  std::vector<Snapshot> snapshots_;
  std::barrier<OnPassed> barrier_;
};

}  // namespace plimsoll::load
