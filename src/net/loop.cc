#include "net/loop.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

namespace plimsoll::net {

class Loop::WakeUp final : public ReadyWatch {
 public:
  WakeUp(Loop& loop, int fd) : loop_(loop), fd_(fd) { loop_.backend().watch(fd_, *this); }
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
  auto backend = kind == IoKind::epoll ? make_epoll_backend() : make_uring_backend();
  if (!backend && kind == IoKind::automatic) backend = make_epoll_backend();
  if (!backend) return Refusal{backend.error()};
  const int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_fd < 0) return Refusal{fmt::format("cannot make an event loop: {}", std::strerror(errno))};
  // Sleeps and timeouts of this thread end when they are due, not up to 50 us later (prctl(2)).
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  return std::unique_ptr<Loop>(new Loop(std::move(*backend), wake_fd));
}

Loop::Loop(std::unique_ptr<Backend> backend, int wake_fd)
    : backend_(std::move(backend)),
      now_(plimsoll::now()),
      timers_(now_),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratch)),
      wake_up_(std::make_unique<WakeUp>(*this, wake_fd)) {}

Loop::~Loop() = default;

void Loop::wake_up() {
  wake_up_->send();
}

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
    const bool more = run_ready() || !next_turns_.empty();
    if (done) break;
    Instant until = more ? now_ : timers_.next_wake();
    if (!sleepers_.empty()) until = std::min(until, sleepers_.front().due);
    ++turn_;
    backend_->wait(*this, until);
    give_turns();
    timers_.advance(now_);
    wake_sleepers();
  }
}

bool Loop::run_ready() {
  running_.swap(ready_);
  // By index: a coroutine that is destroyed meanwhile takes itself out.
  for (std::size_t i = 0; i < running_.size(); ++i) {  // NOLINT(modernize-loop-convert)
    if (running_[i] != nullptr) std::exchange(running_[i]->handle_, nullptr).resume();
  }
  running_.clear();
  return !ready_.empty();
}

// After what the back end has found, so that others come first.
void Loop::give_turns() {
  turns_.swap(next_turns_);
  for (std::size_t i = 0; i < turns_.size(); ++i) {  // NOLINT(modernize-loop-convert)
    if (turns_[i] != nullptr) turns_[i]->take_turn();
  }
  turns_.clear();
}

void Loop::forget_turn(const Waiter& waiter) {
  for (auto* list : {&next_turns_, &turns_}) std::ranges::replace(*list, &waiter, nullptr);
}

void Loop::forget_yield(const Yield& yield) {
  for (auto* list : {&ready_, &running_}) std::ranges::replace(*list, &yield, nullptr);
}

void Loop::add_sleeper(Sleeper& sleeper) {
  sleepers_.push_back({sleeper.due_, sleep_sequence_++, &sleeper});
  std::ranges::push_heap(sleepers_, std::greater<>());
}

void Loop::forget_sleeper(const Sleeper& sleeper) {
  const auto at = std::ranges::find(sleepers_, &sleeper, &Sleep::sleeper);
  if (at != sleepers_.end()) at->sleeper = nullptr;
}

void Loop::wake_sleepers() {
  const std::uint64_t end = sleep_sequence_;  // those who fall asleep meanwhile are for the next turn
  while (!sleepers_.empty() && sleepers_.front().due <= now_ && sleepers_.front().sequence < end) {
    Sleeper* sleeper = sleepers_.front().sleeper;
    std::ranges::pop_heap(sleepers_, std::greater<>());
    sleepers_.pop_back();
    if (sleeper != nullptr) std::exchange(sleeper->handle_, nullptr).resume();
  }
}

char* Loop::plaintext() {
  if (!plaintext_) plaintext_ = std::make_unique_for_overwrite<char[]>(kScratch);
  return plaintext_.get();
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
  // Who sleeps between two exchanges wakes too, before its time.
  for (Sleep& sleep : sleepers_) sleep.due = now_;
  std::ranges::make_heap(sleepers_, std::greater<>());
}

Readable::~Readable() {
  if (handle_) loop_.backend().unwatch(fd_, *this);
}

void Readable::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  loop_.backend().watch(fd_, *this);
}

void Readable::ready() {
  loop_.backend().unwatch(fd_, *this);
  std::exchange(handle_, nullptr).resume();
}

}  // namespace plimsoll::net
