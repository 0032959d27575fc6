// Threads for what would hold a loop up: password hashes, reading a whole blob again, waiting for a disk.
//
//   const bool good = co_await workers.run(call.loop, [&] { return verify(password, hash); });
//
// The function runs in a worker's thread, the coroutine goes on in its loop's. A loop must be attached first.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "net/loop.h"

namespace plimsoll::server {

class Workers {
 public:
  explicit Workers(unsigned threads = 2);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  // Nothing may be waiting for them.
  ~Workers();

  // In the loop's thread; takes the loop's on_wake. `also` is called at every wake-up besides.
  void attach(net::Loop& loop, std::function<void()> also = {});
  void detach(net::Loop& loop);

  // More than one core is there: work that is handed over goes on beside the loop.
  bool parallel() const { return parallel_; }

  // From any thread: the coroutine goes on in its loop's.
  void hand_back(net::Loop& loop, std::coroutine_handle<> waiting);

  template <class Work>
  auto run(net::Loop& loop, Work work) {
    return Job<Work>(*this, loop, std::move(work));
  }

 private:
  template <class Work>
  class Job {
   public:
    using Value = std::invoke_result_t<Work&>;
    Job(Workers& workers, net::Loop& loop, Work work)
        : workers_(workers), loop_(loop), work_(std::move(work)) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      workers_.submit(loop_, handle, [this] { value_.emplace(work_()); });
    }
    Value await_resume() { return std::move(*value_); }

   private:
    Workers& workers_;
    net::Loop& loop_;
    Work work_;
    std::optional<Value> value_;
  };

  struct Task {
    std::function<void()> work;
    net::Loop* loop;
    std::coroutine_handle<> waiting;
  };

  void submit(net::Loop& loop, std::coroutine_handle<> waiting, std::function<void()> work);
  void deliver(net::Loop& loop);
  void work(const std::stop_token& stop);

  bool parallel_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::queue<Task> tasks_;
  std::unordered_map<net::Loop*, std::vector<std::coroutine_handle<>>> done_;
  std::vector<std::jthread> threads_;
};

}  // namespace plimsoll::server
