#include "load/gate.h"

#include <algorithm>

namespace plimsoll::load {

Gate::Gate(const Plan& plan, bool watched)
    : plan_(plan),
      watched_(watched),
      snapshots_(static_cast<std::size_t>(plan.threads)),
      barrier_(plan.threads, OnPassed{this}) {
  starts_[static_cast<std::size_t>(Phase::set_up)] = now();
}

void Gate::pass(Phase next) {
  next_.store(next, std::memory_order_relaxed);
  barrier_.arrive_and_wait();
}

// Runs in the last thread to arrive, before any goes on.
void Gate::passed() noexcept {
  const Phase next = next_.load(std::memory_order_relaxed);
  const Instant start = now();
  starts_[static_cast<std::size_t>(next)] = start;
  if (next == Phase::warm_up) warm_up_.open(0, start + plan_.ramp + plan_.warmup);
  if (next == Phase::measure) {
    measure_.open(plan_.requests, plan_.duration.count() > 0 ? start + plan_.duration : kNever);
  }
  phase_.store(next, std::memory_order_relaxed);
}

void Gate::fail(std::string why) {
  const std::lock_guard lock(mutex_);
  if (failed_.exchange(true)) return;
  failure_ = std::move(why);
}

std::string Gate::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Gate::completed(Instant last) {
  const std::lock_guard lock(mutex_);
  last_completion_ = std::max(last_completion_, last);
}

void Gate::publish(int thread, const stats::Recorder& recorder, Instant now) {
  const std::lock_guard lock(mutex_);
  Snapshot& snapshot = snapshots_[static_cast<std::size_t>(thread)];
  snapshot.live = recorder.live(now);
  snapshot.statuses[0] = recorder.statuses().unanswered();
  for (std::size_t i = 1; i < snapshot.statuses.size(); ++i)
    snapshot.statuses[i] = recorder.statuses().of_class(static_cast<int>(i));
  for (std::size_t i = 0; i < kErrorKinds; ++i)
    snapshot.errors[i] = recorder.errors(static_cast<ErrorKind>(i));
  snapshot.last_second.reset();
  recorder.add_last_second(now, snapshot.last_second);
  snapshot.whole_run = recorder.latency().histogram();
}

std::vector<Snapshot> Gate::snapshots() const {
  const std::lock_guard lock(mutex_);
  return snapshots_;
}

}  // namespace plimsoll::load
