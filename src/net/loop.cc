#include "net/loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace plimsoll::net {

class Loop::WakeUp final : public ReadyWatch {
 public:
  explicit WakeUp(Loop& loop) : loop_(loop), fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    loop_.backend().watch(fd_, *this);
  }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  ~WakeUp() override {
    loop_.backend().unwatch(fd_, *this);
    close(fd_);
  }

  void send() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
  }

  void ready() override {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = read(fd_, &count, sizeof count);
    if (loop_.on_wake_) loop_.on_wake_();
  }

 private:
  Loop& loop_;
  int fd_;
};

std::string_view name(IoKind kind) {
  switch (kind) {
    case IoKind::epoll:
      return "epoll";
    case IoKind::uring:
      return "uring";
    case IoKind::automatic:
      break;
  }
  return "auto";
}

Checked<std::unique_ptr<Loop>> Loop::create(IoKind kind) {
  if (kind != IoKind::epoll) {
    auto uring = make_uring_backend();
    if (uring) return std::unique_ptr<Loop>(new Loop(std::move(*uring)));
    if (kind == IoKind::uring) return Refusal{uring.error()};
  }
  return std::unique_ptr<Loop>(new Loop(make_epoll_backend()));
}

Loop::Loop(std::unique_ptr<Backend> backend)
    : backend_(std::move(backend)),
      now_(plimsoll::now()),
      timers_(now_),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratch)),
      wake_up_(std::make_unique<WakeUp>(*this)) {}

Loop::~Loop() = default;

void Loop::wake_up() { wake_up_->send(); }

namespace {

struct RootTask {
  struct promise_type {
    RootTask get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

RootTask start(Task<void> main, bool& done) {
  co_await std::move(main);
  done = true;
}

}  // namespace

void Loop::run(Task<void> main) {
  bool done = false;
  tick();
  start(std::move(main), done);
  while (!done) {
    const bool more = run_ready();
    if (done) break;
    Instant until = more ? now_ : timers_.next_wake();
    if (!sleepers_.empty()) until = std::min(until, sleepers_.top().due);
    backend_->wait(*this, until);
    timers_.advance(now_);
    wake_sleepers();
  }
}

bool Loop::run_ready() {
  running_.swap(ready_);
  for (const auto handle : running_) handle.resume();
  running_.clear();
  return !ready_.empty();
}

void Loop::wake_sleepers() {
  while (!sleepers_.empty() && sleepers_.top().due <= now_) {
    const auto handle = sleepers_.top().handle;
    sleepers_.pop();
    handle.resume();
  }
}

void Loop::enlist(Stream& stream) {
  stream.place_ = streams_.size();
  streams_.push_back(&stream);
}

void Loop::delist(Stream& stream) {
  streams_[stream.place_] = streams_.back();
  streams_[stream.place_]->place_ = stream.place_;
  streams_.pop_back();
}

void Loop::abort_streams(const Error& error) {
  for (Stream* stream : streams_) stream->abort(error);
}

void Readable::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  loop_.backend().watch(fd_, *this);
}

void Readable::ready() {
  loop_.backend().unwatch(fd_, *this);
  handle_.resume();
}

}  // namespace plimsoll::net
