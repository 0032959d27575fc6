// One thread's event loop: timers, sleeping tasks, and a back end that wakes streams.
//
// A loop, its streams and its tasks belong to one thread; several loops share nothing. From other threads (and
// signal handlers) only wake_up() may be called.
#pragma once

#include <atomic>
#include <coroutine>
#include <functional>
#include <memory>
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

  // Sleeps with the precision of the kernel's clock (the timer wheel's is 4 ms). A due time in the past lets the
  // network have its turn first, so that a backlog of due times starves nobody.
  auto sleep_until(Instant due) { return Sleeper(*this, due); }
  auto sleep_for(Nanos duration) { return sleep_until(plimsoll::now() + duration); }

  // Resumes the coroutine in a later step of this turn: lets others run, and cuts recursion.
  auto yield() { return Yield(*this); }

  // Makes the loop turn once and call `on_wake`; the only thing that other threads and signal handlers may do.
  void wake_up();
  void set_on_wake(std::function<void()> on_wake) { on_wake_ = std::move(on_wake); }

  // A buffer that all receives of this loop share (256 KiB): contents are gone at the next receive of any stream.
  char* scratch() { return scratch_.get(); }
  // Another of that size, for what TLS decrypts from there. Made at its first use.
  char* plaintext();
  static constexpr std::size_t kScratch = 256 * 1024;

  // Which turn of the loop this is; a stream that has had its share of it asks for another.
  std::uint64_t turn() const { return turn_; }
  void add_turn(Waiter& waiter) { next_turns_.push_back(&waiter); }
  void forget_turn(const Waiter& waiter);

  // Every open stream of this loop, so that a run can end them all.
  void enlist(Stream& stream);
  void delist(Stream& stream);
  void abort_streams(const Error& error);

 private:
  Loop(std::unique_ptr<Backend> backend, int wake_fd);
  bool run_ready();
  void give_turns();
  void wake_sleepers();

  // Both awaiters forget their place when their coroutine is destroyed while it waits.
  class Sleeper {
   public:
    Sleeper(Loop& loop, Instant due) : loop_(loop), due_(due) {}
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() {
      if (handle_) loop_.forget_sleeper(*this);
    }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      loop_.add_sleeper(*this);
    }
    void await_resume() const noexcept {}

   private:
    friend class Loop;
    Loop& loop_;
    Instant due_;
    std::coroutine_handle<> handle_ = nullptr;
  };
  class Yield {
   public:
    explicit Yield(Loop& loop) : loop_(loop) {}
    Yield(const Yield&) = delete;
    Yield& operator=(const Yield&) = delete;
    ~Yield() {
      if (handle_) loop_.forget_yield(*this);
    }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      loop_.ready_.push_back(this);
    }
    void await_resume() const noexcept {}

   private:
    friend class Loop;
    Loop& loop_;
    std::coroutine_handle<> handle_ = nullptr;
  };
  void add_sleeper(Sleeper& sleeper);
  void forget_sleeper(const Sleeper& sleeper);
  void forget_yield(const Yield& yield);

  // Earliest due first, then first come; a forgotten one is null.
  struct Sleep {
    Instant due;
    std::uint64_t sequence;
    Sleeper* sleeper;
    friend bool operator>(const Sleep& a, const Sleep& b) {
      return a.due != b.due ? a.due > b.due : a.sequence > b.sequence;
    }
  };
  class WakeUp;

  std::unique_ptr<Backend> backend_;
  Instant now_;
  TimerWheel timers_;
  std::vector<Sleep> sleepers_;  // a heap by std::greater
  std::uint64_t sleep_sequence_ = 0;
  std::vector<Yield*> ready_;
  std::vector<Yield*> running_;
  std::uint64_t turn_ = 1;
  std::vector<Waiter*> next_turns_;
  std::vector<Waiter*> turns_;
  std::vector<Stream*> streams_;
  std::unique_ptr<char[]> scratch_;
  std::unique_ptr<char[]> plaintext_;
  std::unique_ptr<WakeUp> wake_up_;
  std::function<void()> on_wake_;
};

// Waits until a descriptor that is no stream is readable. One waiter a descriptor.
class Readable final : public ReadyWatch {
 public:
  Readable(Loop& loop, int fd) : loop_(loop), fd_(fd) {}
  Readable(const Readable&) = delete;
  Readable& operator=(const Readable&) = delete;
  ~Readable() override;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle);
  void await_resume() const noexcept {}
  void ready() override;

 private:
  Loop& loop_;
  int fd_;
  std::coroutine_handle<> handle_ = nullptr;
};

}  // namespace plimsoll::net
