// What the tests of this room share: a loop for each back end that the system allows, and tasks on a leash.
#pragma once

#include <gtest/gtest.h>

#include <coroutine>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "net/connect.h"
#include "net/loop.h"
#include "net/scope.h"

namespace plimsoll::net {

inline constexpr Patience kPatience{.idle = std::chrono::seconds(10)};

// Every test of a suite derived from this runs on each back end:
//   INSTANTIATE_TEST_SUITE_P(Backends, Suite, kBackends, backend_name);
class Engine : public testing::TestWithParam<IoKind> {
 protected:
  void SetUp() override {
    auto loop = Loop::create(GetParam());
    if (!loop) GTEST_SKIP() << loop.error().message;
    loop_ = std::move(*loop);
    ASSERT_EQ(loop_->io(), GetParam());
  }
  Loop& loop() { return *loop_; }
  static Listener listen() { return std::move(*Listener::open(*parse_listen("0"), {})); }

  std::unique_ptr<Loop> loop_;
};

inline const auto kBackends = testing::Values(IoKind::epoll, IoKind::uring);
inline std::string backend_name(const testing::TestParamInfo<IoKind>& info) {
  return std::string(name(info.param));
}

// Starts a task without waiting for it, and can destroy it at any time.
class Held {
 public:
  explicit Held(Task<void> task) : frame_(start(std::move(task)).frame) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { destroy(); }
  bool done() const { return frame_.done(); }
  void destroy() {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

 private:
  struct Coroutine {
    struct promise_type {
      Coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
  };
  static Coroutine start(Task<void> task) { co_await std::move(task); }

  std::coroutine_handle<Coroutine::promise_type> frame_;
};

// Bytes that differ everywhere, so that a shift or a hole shows.
inline std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 24);
  return bytes;
}

// Receives until the end of the stream or `limit` bytes.
inline Task<std::string> receive_all(Stream& stream, std::size_t limit = SIZE_MAX) {
  std::string all;
  while (all.size() < limit) {
    const auto piece = co_await stream.receive(kPatience);
    EXPECT_TRUE(piece.has_value()) << (piece ? "" : describe(piece.error()));
    if (!piece || piece->empty()) break;
    all += *piece;
  }
  co_return all;
}

// Accepts one connection and sends back what comes until the peer closes.
inline Task<void> echo_once(Loop& loop, Listener& listener) {
  auto stream = co_await listener.accept(loop);
  if (!stream) co_return;
  for (;;) {
    const auto bytes = co_await (*stream)->receive(kPatience);
    if (!bytes || bytes->empty()) co_return;
    const std::string copy(*bytes);
    if (!co_await (*stream)->send(copy, {}, kPatience)) co_return;
  }
}

// Accepts one connection and sends it everything.
inline Task<void> send_all(Loop& loop, Listener& listener, const std::string& bytes) {
  auto stream = co_await listener.accept(loop);
  if (!stream) co_return;
  EXPECT_TRUE((co_await (*stream)->send(bytes, {}, kPatience)).has_value());
  EXPECT_EQ((*stream)->traffic().sent, bytes.size());
}

}  // namespace plimsoll::net
