#include "server/workers.h"

#include <sched.h>

#include <utility>

namespace plimsoll::server {
namespace {

int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

Workers::Workers(unsigned threads) : parallel_(cores() > 1) {
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

Workers::~Workers() {
  for (auto& thread : threads_) thread.request_stop();
}

void Workers::attach(net::Loop& loop, std::function<void()> also) {
  {
    const std::lock_guard lock(mutex_);
    done_.try_emplace(&loop);
  }
  loop.set_on_wake([this, &loop, also = std::move(also)] {
    deliver(loop);
    if (also) also();
  });
}

void Workers::detach(net::Loop& loop) {
  loop.set_on_wake({});
  const std::lock_guard lock(mutex_);
  done_.erase(&loop);
}

void Workers::submit(net::Loop& loop, std::coroutine_handle<> waiting, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push({std::move(work), &loop, waiting});
  }
  wake_.notify_one();
}

// Under the lock to its end: the loop, once it has been told, may end and be detached.
void Workers::hand_back(net::Loop& loop, std::coroutine_handle<> waiting) {
  const std::lock_guard lock(mutex_);
  done_[&loop].push_back(waiting);
  loop.wake_up();
}

void Workers::deliver(net::Loop& loop) {
  std::vector<std::coroutine_handle<>> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(done_[&loop]);
  }
  for (const auto handle : ready) handle.resume();
}

void Workers::work(const std::stop_token& stop) {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [&] { return !tasks_.empty(); })) return;
      task = std::move(tasks_.front());
      tasks_.pop();
    }
    task.work();
    hand_back(*task.loop, task.waiting);
  }
}

}  // namespace plimsoll::server
