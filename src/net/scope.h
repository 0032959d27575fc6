// What single-threaded tasks wait for besides the network: the end of other tasks, an event, a barrier.
//
// None of these is for use between threads.
#pragma once

#include <coroutine>
#include <cstddef>

#include "net/task.h"

namespace plimsoll::net {

// Runs tasks side by side and waits for all of them. A task that is spawned starts at once and runs to its first
// wait. A scope is joined before it is destroyed; one that goes with the coroutine that holds it takes the tasks
// that still run along, so what they refer to must have been declared before it.
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
      explicit Joiner(TaskScope& joined) : scope(joined) {}
      Joiner(const Joiner&) = delete;
      Joiner& operator=(const Joiner&) = delete;
      ~Joiner() {
        if (waits) scope.joiner_ = nullptr;
      }
      bool await_ready() const noexcept { return scope.running_ == 0; }
      void await_suspend(std::coroutine_handle<> waiter) noexcept {
        waits = true;
        scope.joiner_ = waiter;
      }
      void await_resume() noexcept { waits = false; }

      TaskScope& scope;
      bool waits = false;
    };
    return Joiner(*this);
  }

 private:
  struct Detached;
  // The coroutine around a spawned task, in the list of those that run.
  struct Running {
    Running* previous = nullptr;
    Running* next = nullptr;
    std::coroutine_handle<> frame = nullptr;
  };
  Detached start(Task<void> task);
  void finished();

  std::size_t running_ = 0;
  Running* first_ = nullptr;
  std::coroutine_handle<> joiner_ = nullptr;
};

// Opens once or again; whoever waits while it is shut is resumed by open(), in order.
class Event {
  struct Node {
    Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    ~Node() { unlink(); }
    void unlink() {
      previous->next = next;
      next->previous = previous;
      previous = next = this;
    }
    void link_before(Node& head) {
      previous = head.previous;
      next = &head;
      previous->next = this;
      head.previous = this;
    }
    Node* previous = this;
    Node* next = this;
    std::coroutine_handle<> waiter = nullptr;
  };

 public:
  bool is_open() const { return open_; }
  void open();
  void shut() { open_ = false; }
  // Resumes those who wait now, and stays shut.
  void pulse();

  auto wait() {
    struct Waiter : Node {
      explicit Waiter(Event& awaited) : event(awaited) {}
      bool await_ready() const noexcept { return event.open_; }
      void await_suspend(std::coroutine_handle<> handle) {
        waiter = handle;
        link_before(event.waiters_);
      }
      void await_resume() const noexcept {}

      Event& event;
    };
    return Waiter(*this);
  }

 private:
  bool open_ = false;
  Node waiters_;
};

}  // namespace plimsoll::net
