#include "net/timer_wheel.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;

class Probe final : public Timer {
 public:
  explicit Probe(std::function<void()> on_expiry) : on_expiry_(std::move(on_expiry)) {}

 private:
  void expired() override { on_expiry_(); }
  std::function<void()> on_expiry_;
};

constexpr Instant kStart = Instant(1000s);

TEST(TimerWheel, FiresOnceAndNeverEarly) {
  TimerWheel wheel(kStart);
  int fired = 0;
  Probe timer([&] { ++fired; });
  wheel.arm(timer, kStart + 20ms);
  EXPECT_TRUE(timer.armed());
  wheel.advance(kStart + 20ms - 1ns);
  EXPECT_EQ(fired, 0);
  wheel.advance(kStart + 30ms);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(timer.armed());
  wheel.advance(kStart + 100s);
  EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, FiresWhatIsDueAlreadyAtTheNextTick) {
  TimerWheel wheel(kStart);
  int fired = 0;
  Probe timer([&] { ++fired; });
  wheel.arm(timer, kStart - 5s);
  wheel.advance(kStart + 5ms);
  EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, TenThousandTimersFireInTimeAndInOrder) {
  TimerWheel wheel(kStart);
  Random random(7);
  Instant now = kStart;
  std::size_t fired = 0;
  std::vector<std::unique_ptr<Probe>> timers;
  for (int i = 0; i < 10'000; ++i) {
    // Up to 100 s: six turns of the wheel.
    const Instant due = kStart + Nanos(static_cast<std::int64_t>(random.below(100'000'000'000)));
    timers.push_back(std::make_unique<Probe>([&, due] {
      ++fired;
      EXPECT_GE(now, due);
      EXPECT_LE(now - due, 20ms);
    }));
    wheel.arm(*timers.back(), due);
  }
  while (now < kStart + 101s) {
    now += Nanos(static_cast<std::int64_t>(random.below(10'000'000)));
    wheel.advance(now);
  }
  EXPECT_EQ(fired, timers.size());
}

TEST(TimerWheel, ADisarmedTimerNeverFires) {
  TimerWheel wheel(kStart);
  int fired = 0;
  Probe kept([&] { ++fired; });
  {
    Probe gone([&] { fired += 100; });
    wheel.arm(kept, kStart + 1s);
    wheel.arm(gone, kStart + 1s);
  }
  wheel.advance(kStart + 2s);
  EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, ExpiryMayDisarmAndDestroyOthersOfItsTick) {
  TimerWheel wheel(kStart);
  std::vector<std::unique_ptr<Probe>> timers;
  int fired = 0;
  for (int i = 0; i < 3; ++i) {
    timers.push_back(std::make_unique<Probe>([&] {
      ++fired;
      timers[1]->disarm();
      timers[2].reset();
    }));
    wheel.arm(*timers.back(), kStart + 10ms);
  }
  wheel.advance(kStart + 1s);
  EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, ExpiryMayArmItselfAgain) {
  TimerWheel wheel(kStart);
  std::vector<Instant> at;
  Instant now = kStart;
  Probe* self = nullptr;
  Probe timer([&] {
    at.push_back(now);
    // Once into the slot that is being looked at, a whole turn later; then into the past.
    if (at.size() == 1) wheel.arm(*self, now + Nanos(4096LL << 22));
    if (at.size() == 2) wheel.arm(*self, now - 1s);
  });
  self = &timer;
  wheel.arm(timer, kStart + 10ms);
  for (; now < kStart + 60s; now += 5ms) wheel.advance(now);
  ASSERT_EQ(at.size(), 3U);
  EXPECT_GE(at[1] - at[0], Nanos(4096LL << 22));
  EXPECT_LE(at[2] - at[1], 10ms);
}

TEST(TimerWheel, ALongSleepMissesNothing) {
  TimerWheel wheel(kStart);
  int fired = 0;
  std::vector<std::unique_ptr<Probe>> timers;
  for (int i = 0; i < 100; ++i) {
    timers.push_back(std::make_unique<Probe>([&] { ++fired; }));
    wheel.arm(*timers.back(), kStart + i * 700ms);
  }
  wheel.advance(kStart + 1h);
  EXPECT_EQ(fired, 100);
}

TEST(TimerWheel, SaysWhenToWake) {
  TimerWheel wheel(kStart);
  EXPECT_EQ(wheel.next_wake(), kNever);
  Probe near([] {});
  Probe far([] {});
  wheel.arm(far, kStart + 10s);
  wheel.arm(near, kStart + 50ms);
  EXPECT_GE(wheel.next_wake(), kStart + 50ms);
  EXPECT_LE(wheel.next_wake(), kStart + 60ms);
  // A disarmed timer costs one wake-up at most.
  near.disarm();
  wheel.advance(kStart + 60ms);
  EXPECT_GE(wheel.next_wake(), kStart + 9s);
  EXPECT_LE(wheel.next_wake(), kStart + 10s + 10ms);
  far.disarm();
  wheel.advance(kStart + 11s);
  EXPECT_EQ(wheel.next_wake(), kNever);
}

TEST(TimerWheel, WakesInTimeWhenDrivenByNextWakeAlone) {
  TimerWheel wheel(kStart);
  Instant now = kStart;
  Instant fired_at{};
  Probe timer([&] { fired_at = now; });
  wheel.arm(timer, kStart + 65s);
  int wakes = 0;
  while (wheel.next_wake() != kNever) {
    now = wheel.next_wake();
    wheel.advance(now);
    ++wakes;
  }
  EXPECT_GE(fired_at, kStart + 65s);
  EXPECT_LE(fired_at, kStart + 65s + 10ms);
  EXPECT_LE(wakes, 10);
}

TEST(TimerWheel, DisarmsWhatOutlivesIt) {
  Probe timer([] {});
  {
    TimerWheel wheel(kStart);
    wheel.arm(timer, kStart + 1s);
  }
  EXPECT_FALSE(timer.armed());
}

}  // namespace
}  // namespace plimsoll::net
