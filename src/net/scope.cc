#include "net/scope.h"

#include <exception>
#include <utility>

namespace plimsoll::net {

// A coroutine that owns itself: it is destroyed when it ends, and tells its scope.
struct TaskScope::Detached {
  struct promise_type : Running {
    promise_type(TaskScope& owner, Task<void>& /*task*/) : scope(owner) {
      frame = std::coroutine_handle<promise_type>::from_promise(*this);
      next = scope.first_;
      if (next != nullptr) next->previous = this;
      scope.first_ = this;
    }
    promise_type(const promise_type&) = delete;
    promise_type& operator=(const promise_type&) = delete;
    ~promise_type() { unlink(); }
    void unlink() {
      if (frame == nullptr) return;
      frame = nullptr;
      (previous != nullptr ? previous->next : scope.first_) = next;
      if (next != nullptr) next->previous = previous;
    }
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* memory, std::size_t bytes) noexcept { release_frame(memory, bytes); }

    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }

    TaskScope& scope;
  };

  // Takes the coroutine that awaits it out of its scope's list: what follows may outlive the scope.
  struct Leave {
    bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<promise_type> self) noexcept {
      self.promise().unlink();
      return false;
    }
    void await_resume() noexcept {}
  };
};

TaskScope::~TaskScope() {
  while (first_ != nullptr) first_->frame.destroy();
}

TaskScope::Detached TaskScope::start(Task<void> task) {
  {
    // With what it was given, before anybody is told that it has ended.
    Task<void> whole = std::move(task);
    co_await std::move(whole);
  }
  co_await Detached::Leave();
  // Last, since what resumes the joiner may destroy the scope.
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
  pulse();
}

void Event::pulse() {
  // Those that wait anew while these are resumed are for the next time; those that are destroyed meanwhile unlink
  // themselves.
  Node woken;
  if (waiters_.next != &waiters_) {
    woken.link_before(waiters_);
    waiters_.unlink();
  }
  while (woken.next != &woken) {
    Node& node = *woken.next;
    node.unlink();
    node.waiter.resume();
  }
}

}  // namespace plimsoll::net
