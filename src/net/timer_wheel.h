// Deadlines by the thousand: a hashed timer wheel with O(1) arm and disarm.
//
// Resolution is one tick (about 4 ms): meant for timeouts, which are armed at every wait and almost never fire.
// Pacing, which must be exact, sleeps by Loop::sleep_until. A timer never fires before it is due.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace plimsoll::net {

// One timer; embedded in what it times out. Disarms itself when destroyed.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() { disarm(); }

  bool armed() const { return next_ != nullptr; }
  void disarm();

 protected:
  // Called once per arming; the timer is disarmed already and may be armed again.
  virtual void expired() = 0;

 private:
  friend class TimerWheel;
  void link_before(Timer& head);

  Timer* previous_ = nullptr;
  Timer* next_ = nullptr;
  Instant due_{};
};

class TimerWheel {
 public:
  explicit TimerWheel(Instant start);
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;
  // Timers that are still armed are disarmed.
  ~TimerWheel();

  void arm(Timer& timer, Instant due);
  // Fires what is due at `now`, in order of ticks.
  void advance(Instant now);
  // When advance() should next be called: never later than the first due timer needs, sometimes earlier (where a
  // timer was disarmed since). kNever where nothing was armed.
  Instant next_wake() const;

 private:
  static constexpr int kTickBits = 22;  // 4.19 ms
  static constexpr std::uint64_t kSlots = 4096;

  struct Head final : Timer {
    Head() { previous_ = next_ = this; }
    // A list head points to itself and is never linked anywhere.
    ~Head() override { previous_ = next_ = nullptr; }
    void expired() override {}
  };
  static std::uint64_t tick_of(Instant t) {
    return static_cast<std::uint64_t>(t.time_since_epoch().count()) >> kTickBits;
  }

  static constexpr std::uint64_t kNoTick = UINT64_MAX;
  // The first tick that may have a timer, from the slots.
  std::uint64_t find_next() const;

  std::uint64_t current_;  // the last tick that was looked at
  // No timer fires before this tick; it is lowered when one is armed and found anew when it has passed, so that a
  // turn of the loop costs no search.
  mutable std::uint64_t next_tick_ = kNoTick;
  std::array<Head, kSlots> slots_;
  // Which slots may hold timers: set when one is armed, cleared when the slot is found empty.
  mutable std::array<std::uint64_t, kSlots / 64> occupied_{};
};

}  // namespace plimsoll::net
