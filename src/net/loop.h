// One thread's event loop: timers, sleeping tasks, and a back end that wakes streams.
//
// A loop, its streams and its tasks belong to one thread; several loops share nothing. From other threads (and
// signal handlers) only wake_up() may be called.
#pragma once

#include <atomic>
#include <coroutine>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/backend.h"
#include "net/task.h"
#include "net/timer_wheel.h"

namespace plimsoll::net {

class Loop {
 public:
  // `automatic` takes io_uring where the system allows it. Asking for one that is refused is a refusal, never a
  // silent fall-back. Call in the thread that will run the loop.
  static Checked<std::unique_ptr<Loop>> create(IoKind kind = IoKind::automatic);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  // Runs until `main` has ended.
  void run(Task<void> main);

  // The time at which this turn of the loop began: cheap, for pacing and timeouts. Latencies read the clock.
  Instant now() const { return now_; }
  // Called by the back end after each wait.
  void tick() { now_ = plimsoll::now(); }

  TimerWheel& timers() { return timers_; }
  Backend& backend() { return *backend_; }
  IoKind io() const { return backend_->kind(); }

  // Sleeps with the precision of the kernel's clock (the timer wheel's is 4 ms).
  auto sleep_until(Instant due) {
    struct Sleeper {
      Loop& loop;
      Instant due;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> handle) { loop.sleepers_.push({due, loop.sleep_sequence_++, handle}); }
      void await_resume() const noexcept {}
    };
    return Sleeper{*this, due};
  }
  auto sleep_for(Nanos duration) { return sleep_until(plimsoll::now() + duration); }

  // Resumes the coroutine in a later step of this turn: lets others run, and cuts recursion.
  auto yield() {
    struct Yield {
      Loop& loop;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> handle) { loop.ready_.push_back(handle); }
      void await_resume() const noexcept {}
    };
    return Yield{*this};
  }

  // Makes the loop turn once and call `on_wake`; the only thing that other threads and signal handlers may do.
  void wake_up();
  void set_on_wake(std::function<void()> on_wake) { on_wake_ = std::move(on_wake); }

  // A buffer that all receives of this loop share (256 KiB): contents are gone at the next receive of any stream.
  char* scratch() { return scratch_.get(); }
  static constexpr std::size_t kScratch = 256 * 1024;

  // Every open stream of this loop, so that a run can end them all.
  void enlist(Stream& stream);
  void delist(Stream& stream);
  void abort_streams(const Error& error);

 private:
  explicit Loop(std::unique_ptr<Backend> backend);
  bool run_ready();
  void wake_sleepers();

  struct Sleep {
    Instant due;
    std::uint64_t sequence;
    std::coroutine_handle<> handle;
    friend bool operator>(const Sleep& a, const Sleep& b) {
      return a.due != b.due ? a.due > b.due : a.sequence > b.sequence;
    }
  };
  class WakeUp;

  std::unique_ptr<Backend> backend_;
  Instant now_;
  TimerWheel timers_;
  std::priority_queue<Sleep, std::vector<Sleep>, std::greater<>> sleepers_;
  std::uint64_t sleep_sequence_ = 0;
  std::vector<std::coroutine_handle<>> ready_;
  std::vector<std::coroutine_handle<>> running_;
  std::vector<Stream*> streams_;
  std::unique_ptr<char[]> scratch_;
  std::unique_ptr<WakeUp> wake_up_;
  std::function<void()> on_wake_;
};

// Waits until a descriptor that is no stream is readable. One waiter a descriptor.
class Readable final : public ReadyWatch {
 public:
  Readable(Loop& loop, int fd) : loop_(loop), fd_(fd) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle);
  void await_resume() const noexcept {}
  void ready() override;

 private:
  Loop& loop_;
  int fd_;
  std::coroutine_handle<> handle_;
};

}  // namespace plimsoll::net
