// The engine over real loopback sockets; every test runs on each back end that the system allows.
#include <sys/socket.h>

#include <string>

#include "net/engine_fixture.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TEST_SUITE_P(Backends, Engine, kBackends, backend_name);

TEST_P(Engine, EchoesAMessage) {
  auto listener = listen();
  std::string got;
  loop().run([](Loop& on, Listener& at, std::string& into) -> Task<void> {
    TaskScope scope;
    scope.spawn(echo_once(on, at));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    EXPECT_TRUE(stream.has_value());
    EXPECT_TRUE((co_await (*stream)->send("hello, ", "world", kPatience)).has_value());
    while (into.size() < 12) {
      const auto bytes = co_await (*stream)->receive(kPatience);
      if (!bytes || bytes->empty()) break;
      into += *bytes;
    }
    stream->reset();
    co_await scope.join();
  }(loop(), listener, got));
  EXPECT_EQ(got, "hello, world");
}

Task<void> send_all(Loop& loop, Listener& listener, const std::string& bytes) {
  auto stream = co_await listener.accept(loop);
  if (!stream) co_return;
  EXPECT_TRUE((co_await (*stream)->send(bytes, {}, kPatience)).has_value());
  EXPECT_EQ((*stream)->traffic().sent, bytes.size());
}

TEST_P(Engine, MovesMoreThanTheBuffersHold) {
  const std::string bytes = pattern(20 << 20);
  auto listener = listen();
  std::string got;
  loop().run([](Loop& on, Listener& at, const std::string& sent, std::string& into) -> Task<void> {
    TaskScope scope;
    scope.spawn(send_all(on, at, sent));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    for (;;) {
      const auto piece = co_await (*stream)->receive(kPatience);
      if (!piece || piece->empty()) break;
      into += *piece;
    }
    co_await scope.join();
  }(loop(), listener, bytes, got));
  EXPECT_TRUE(got == bytes);
}

TEST_P(Engine, DiscardsWithoutLooking) {
  const std::string bytes(20 << 20, 'x');
  auto listener = listen();
  std::uint64_t got = 0;
  loop().run([](Loop& on, Listener& at, const std::string& sent, std::uint64_t& count) -> Task<void> {
    TaskScope scope;
    scope.spawn(send_all(on, at, sent));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    (*stream)->expect_bulk(true);
    while (count < sent.size()) {
      const auto piece = co_await (*stream)->discard(sent.size() - count, kPatience);
      if (!piece || *piece == 0) break;
      count += *piece;
    }
    co_await scope.join();
  }(loop(), listener, bytes, got));
  EXPECT_EQ(got, bytes.size());
}

TEST_P(Engine, TimesOutOnASilentPeer) {
  auto listener = listen();
  Result<std::string_view> outcome;
  Nanos waited{};
  loop().run([](Loop& on, Listener& at, Result<std::string_view>& into, Nanos& time) -> Task<void> {
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    const Instant start = now();
    into = co_await (*stream)->receive({.idle = 30ms});
    time = now() - start;
  }(loop(), listener, outcome, waited));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::timeout);
  EXPECT_GE(waited, 30ms);
}

TEST_P(Engine, ReportsARefusedConnection) {
  Address nobody;
  {
    auto listener = listen();
    nobody = listener.address();
  }
  Result<void> outcome;
  loop().run([](Loop& on, Address to, Result<void>& into) -> Task<void> {
    const auto stream = co_await connect(on, to, {}, kPatience);
    if (!stream) into = stream.error();
  }(loop(), nobody, outcome));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::connect_refused);
}

TEST_P(Engine, AbortEndsAWaitingReceive) {
  auto listener = listen();
  Result<std::string_view> outcome;
  loop().run([](Loop& on, Listener& at, Result<std::string_view>& into) -> Task<void> {
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    TaskScope scope;
    scope.spawn([](Loop& inner) -> Task<void> {
      co_await inner.sleep_for(5ms);
      inner.abort_streams({ErrorKind::cancelled, 0, ""});
    }(on));
    into = co_await (*stream)->receive(kPatience);
    co_await scope.join();
  }(loop(), listener, outcome));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::cancelled);
}

TEST_P(Engine, BindsTheSourceAddress) {
  auto listener = listen();
  std::string seen;
  loop().run([](Loop& on, Listener& at, std::string& into) -> Task<void> {
    const ConnectOptions options{.source = *Address::parse_ip("127.0.0.7", 0), .congestion = {}};
    auto stream = co_await connect(on, at.address(), options, kPatience);
    EXPECT_TRUE(stream.has_value());
    if (stream) into = (*stream)->local().ip();
  }(loop(), listener, seen));
  EXPECT_EQ(seen, "127.0.0.7");
}

TEST_P(Engine, SleepsPrecisely) {
  Nanos late{};
  loop().run([](Loop& on, Nanos& into) -> Task<void> {
    const Instant due = now() + 20ms;
    co_await on.sleep_until(due);
    into = now() - due;
  }(loop(), late));
  EXPECT_GE(late, 0ns);
}

TEST_P(Engine, LeavesNoFrameBehind) {
  const auto before = live_frames();
  auto listener = listen();
  loop().run([](Loop& on, Listener& at) -> Task<void> {
    TaskScope scope;
    scope.spawn(echo_once(on, at));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    stream->reset();
    co_await scope.join();
  }(loop(), listener));
  EXPECT_EQ(live_frames(), before);
}

}  // namespace
}  // namespace plimsoll::net
