#include "load/stop.h"

#include "net/loop.h"

namespace plimsoll::load {

void StopSignal::request() {
  requested_.store(true, std::memory_order_relaxed);
  for (auto& place : loops_) {
    if (net::Loop* loop = place.load()) loop->wake_up();
  }
}

LoopEnrolment::LoopEnrolment(StopSignal& signal, net::Loop& loop) {
  for (auto& place : signal.loops_) {
    net::Loop* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, &loop)) {
      place_ = &place;
      return;
    }
  }
}

LoopEnrolment::~LoopEnrolment() {
  if (place_ != nullptr) place_->store(nullptr);
}

}  // namespace plimsoll::load
