// What single-threaded tasks wait for besides the network: the end of other tasks, an event, a barrier.
//
// None of these is for use between threads.
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>
#include <vector>

#include "net/task.h"

namespace plimsoll::net {

// Runs tasks side by side and waits for all of them. A task that is spawned starts at once and runs to its first
// wait. The scope must be joined before it is destroyed: what a spawned task refers to outlives the join.
class TaskScope {
 public:
  TaskScope() = default;
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope();

  void spawn(Task<void> task);
  std::size_t running() const { return running_; }

  // Done when nothing is running. One joiner at a time.
  auto join() {
    struct Joiner {
      TaskScope& scope;
      bool await_ready() const noexcept { return scope.running_ == 0; }
      void await_suspend(std::coroutine_handle<> waiter) noexcept { scope.joiner_ = waiter; }
      void await_resume() const noexcept {}
    };
    return Joiner{*this};
  }

 private:
  struct Detached;
  Detached start(Task<void> task);
  void finished();

  std::size_t running_ = 0;
  std::coroutine_handle<> joiner_ = nullptr;
};

// Opens once or again; whoever waits while it is shut is resumed by open(), in order.
class Event {
 public:
  bool is_open() const { return open_; }
  void open();
  void shut() { open_ = false; }

  auto wait() {
    struct Waiter {
      Event& event;
      bool await_ready() const noexcept { return event.open_; }
      void await_suspend(std::coroutine_handle<> waiter) { event.waiters_.push_back(waiter); }
      void await_resume() const noexcept {}
    };
    return Waiter{*this};
  }

 private:
  bool open_ = false;
  std::vector<std::coroutine_handle<>> waiters_;
};

}  // namespace plimsoll::net
