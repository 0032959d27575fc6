#include "net/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace plimsoll::net {

void Timer::disarm() {
  if (next_ == nullptr) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  previous_ = next_ = nullptr;
}

void Timer::link_before(Timer& head) {
  previous_ = head.previous_;
  next_ = &head;
  previous_->next_ = this;
  head.previous_ = this;
}

TimerWheel::TimerWheel(Instant start) : current_(tick_of(start)) {}

TimerWheel::~TimerWheel() {
  for (Head& head : slots_) {
    while (head.next_ != &head) head.next_->disarm();
  }
}

void TimerWheel::arm(Timer& timer, Instant due) {
  timer.disarm();
  timer.due_ = due;
  // A tick after the due time, so that it never fires early; at least the next tick, so that it is not missed.
  const std::uint64_t tick = std::max(tick_of(due) + 1, current_ + 1);
  const std::uint64_t slot = tick % kSlots;
  next_tick_ = std::min(next_tick_, tick);
  timer.link_before(slots_[slot]);
  occupied_[slot / 64] |= 1ULL << (slot % 64);
}

void TimerWheel::advance(Instant now) {
  const std::uint64_t target = tick_of(now);
  if (target < next_tick_) {
    current_ = std::max(current_, target);
    return;
  }
  // After a long sleep one full turn visits every slot once.
  if (target > current_ + kSlots) current_ = target - kSlots;
  while (current_ < target) {
    const std::uint64_t slot = ++current_ % kSlots;
    if ((occupied_[slot / 64] >> (slot % 64) & 1) == 0) continue;
    Head& head = slots_[slot];
    // Timers of later turns, and those that expired() arms anew, go to a list of their own and back.
    Head waiting;
    while (head.next_ != &head) {
      Timer& timer = *head.next_;
      timer.disarm();
      if (timer.due_ <= now) {
        timer.expired();
      } else {
        timer.link_before(waiting);
      }
    }
    while (waiting.next_ != &waiting) {
      Timer& timer = *waiting.next_;
      timer.disarm();
      timer.link_before(head);
    }
    if (head.next_ == &head) occupied_[slot / 64] &= ~(1ULL << (slot % 64));
  }
  next_tick_ = find_next();
}

Instant TimerWheel::next_wake() const {
  if (next_tick_ == kNoTick) return kNever;
  return Instant(Nanos(static_cast<std::int64_t>(next_tick_ << kTickBits)));
}

std::uint64_t TimerWheel::find_next() const {
  for (std::uint64_t ahead = 1; ahead <= kSlots;) {
    const std::uint64_t slot = (current_ + ahead) % kSlots;
    const std::uint64_t word = occupied_[slot / 64] >> (slot % 64);
    if (word == 0) {
      ahead += 64 - slot % 64;
      continue;
    }
    ahead += static_cast<std::uint64_t>(std::countr_zero(word));
    const std::uint64_t found = (current_ + ahead) % kSlots;
    if (slots_[found].next_ != &slots_[found]) {
      return current_ + ahead;
    }
    occupied_[found / 64] &= ~(1ULL << (found % 64));
  }
  return kNoTick;
}

}  // namespace plimsoll::net
