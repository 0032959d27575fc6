// Task<T>: a lazy coroutine with one owner and one awaiter, confined to one thread.
//
// It does not start until it is awaited (or given to a TaskScope or Loop::run); awaiting transfers control
// symmetrically, so chains of any depth need no stack. Arguments are taken by value, or by a reference that the
// caller provably outlives. An exception that reaches the frame is a bug and ends the program: what can fail
// returns Result<T>. Frames come from frame_pool.h.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "net/frame_pool.h"

namespace plimsoll::net {

template <class T>
class Task;

namespace detail {

class PromiseBase {
 public:
  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { release_frame(frame, bytes); }

  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().continuation_;
    }
    void await_resume() noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { std::terminate(); }
  void continue_with(std::coroutine_handle<> continuation) { continuation_ = continuation; }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
};

template <class T>
class Promise : public PromiseBase {
 public:
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  Task() = default;
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (frame_) frame_.destroy();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  struct Awaiter {
    std::coroutine_handle<promise_type> frame;
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) noexcept {
      frame.promise().continue_with(continuation);
      return frame;
    }
    T await_resume() { return frame.promise().take(); }
  };
  Awaiter operator co_await() && noexcept { return Awaiter{frame_}; }

 private:
  friend class detail::Promise<T>;
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace plimsoll::net
