#include "net/scope.h"

#include <cstdlib>

namespace plimsoll::net {

// A coroutine that owns itself: it is destroyed when it ends, and tells its scope.
struct TaskScope::Detached {
  struct promise_type {
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { release_frame(frame, bytes); }
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

TaskScope::~TaskScope() {
  // Tasks that are still running would refer to a scope that is gone.
  if (running_ != 0) std::abort();
}

TaskScope::Detached TaskScope::start(Task<void> task) {
  co_await std::move(task);
  finished();
}

void TaskScope::spawn(Task<void> task) {
  ++running_;
  start(std::move(task));
}

void TaskScope::finished() {
  if (--running_ == 0 && joiner_) std::exchange(joiner_, nullptr).resume();
}

void Event::open() {
  open_ = true;
  std::vector<std::coroutine_handle<>> waiters;
  waiters.swap(waiters_);
  for (const auto waiter : waiters) waiter.resume();
}

}  // namespace plimsoll::net
