// The loop over real loopback sockets; every test runs on each back end that the system allows.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "net/engine_fixture.h"
#include "tests/support/certificates.h"

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

TEST_P(Engine, ServesAThousandConnectionsAtOnce) {
  constexpr int kConnections = 1000;
  auto listener = listen();
  int echoed = 0;
  loop().run([](Loop& on, Listener& at, int& count) -> Task<void> {
    TaskScope scope;
    scope.spawn([](Loop& inner, Listener& from) -> Task<void> {
      TaskScope serving;
      for (int i = 0; i < kConnections; ++i) {
        auto stream = co_await from.accept(inner);
        EXPECT_TRUE(stream.has_value());
        serving.spawn([](std::unique_ptr<Stream> own) -> Task<void> {
          for (;;) {
            const auto bytes = co_await own->receive(kPatience);
            if (!bytes || bytes->empty()) co_return;
            const std::string copy(*bytes);
            if (!co_await own->send(copy, {}, kPatience)) co_return;
          }
        }(std::move(*stream)));
      }
      co_await serving.join();
    }(on, at));
    Event start;
    for (int i = 0; i < kConnections; ++i) {
      scope.spawn([](Loop& inner, const Address& to, Event& gate, int number, int& done) -> Task<void> {
        auto stream = co_await connect(inner, to, {}, kPatience);
        EXPECT_TRUE(stream.has_value());
        co_await gate.wait();
        // Different sizes, around those of the buffers that they pass through.
        const std::string message = pattern(static_cast<std::size_t>(number) * 37 % 9000 + 1);
        for (int round = 0; round < 3; ++round) {
          EXPECT_TRUE((co_await (*stream)->send(message, {}, kPatience)).has_value());
          const std::string got = co_await receive_all(**stream, message.size());
          EXPECT_TRUE(got == message);
          done += got == message ? 1 : 0;
        }
      }(on, at.address(), start, i, count));
    }
    co_await on.sleep_for(20ms);
    start.open();
    co_await scope.join();
  }(loop(), listener, echoed));
  EXPECT_EQ(echoed, 3 * kConnections);
}

TEST_P(Engine, SpeaksOverUnixSockets) {
  const test::TemporaryFolder folder;
  const auto path = *Address::unix_path((folder.path() / "socket").string());
  auto listener = std::move(*Listener::open(path, {}));
  std::uint64_t gone = 0;
  std::string got;
  const std::string bytes = pattern(1 << 20);
  loop().run([](Loop& on, Listener& at, const std::string& sent, std::uint64_t& discarded,
                std::string& into) -> Task<void> {
    TaskScope scope;
    scope.spawn(send_all(on, at, sent));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    while (discarded < sent.size() / 2) {
      const auto piece = co_await (*stream)->discard(sent.size() / 2 - discarded, kPatience);
      if (!piece || *piece == 0) break;
      discarded += *piece;
    }
    into = co_await receive_all(**stream);
    co_await scope.join();
  }(loop(), listener, bytes, gone, got));
  EXPECT_EQ(gone, bytes.size() / 2);
  EXPECT_TRUE(got == std::string_view(bytes).substr(bytes.size() / 2));
}

TEST_P(Engine, RefusesAUnixSocketThatIsNotThere) {
  const test::TemporaryFolder folder;
  const auto path = *Address::unix_path((folder.path() / "nothing").string());
  Result<void> outcome;
  loop().run([](Loop& on, Address to, Result<void>& into) -> Task<void> {
    const auto stream = co_await connect(on, to, {}, kPatience);
    if (!stream) into = stream.error();
  }(loop(), path, outcome));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::connect_refused);
}

TEST_P(Engine, OtherThreadsWakeIt) {
  int woken = 0;
  Event event;
  loop().set_on_wake([&] {
    ++woken;
    event.open();
  });
  std::thread other([this] {
    std::this_thread::sleep_for(5ms);
    loop().wake_up();
  });
  loop().run([](Event& awaited) -> Task<void> { co_await awaited.wait(); }(event));
  other.join();
  EXPECT_EQ(woken, 1);
}

TEST_P(Engine, WaitsForOtherDescriptors) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
  std::string got;
  loop().run([](Loop& on, std::array<int, 2> fds, std::string& into) -> Task<void> {
    for (const char byte : {'a', 'b'}) {
      TaskScope scope;
      scope.spawn([](Loop& inner, int to, char mark) -> Task<void> {
        co_await inner.sleep_for(2ms);
        EXPECT_EQ(write(to, &mark, 1), 1);
      }(on, fds[1], byte));
      co_await Readable(on, fds[0]);
      char read_byte = 0;
      EXPECT_EQ(read(fds[0], &read_byte, 1), 1);
      into += read_byte;
      co_await scope.join();
    }
    // One that is given up is forgotten.
    {
      Held gone([](Loop& inner, int from) -> Task<void> {
        co_await Readable(inner, from);
        ADD_FAILURE();
      }(on, fds[0]));
    }
    EXPECT_EQ(write(fds[1], "c", 1), 1);
    co_await on.sleep_for(2ms);
  }(loop(), ends, got));
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(got, "ab");
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
