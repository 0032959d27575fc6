// The engine over real loopback sockets; every test runs on each back end that the system allows.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>

#include "net/engine_fixture.h"
#include "tests/support/certificates.h"
#include "tests/support/scripted_peer.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;
using test::Script;
using test::ScriptedPeer;

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

// A peer that plays a script, and what one connection to it does.
void with_peer(Loop& loop, const ScriptedPeer& peer, const std::function<Task<void>(Stream&)>& use) {
  loop.run([](Loop& on, std::uint16_t port, const std::function<Task<void>(Stream&)>& body) -> Task<void> {
    auto stream = co_await connect(on, *Address::parse_ip("127.0.0.1", port), {}, kPatience);
    EXPECT_TRUE(stream.has_value());
    if (stream) co_await body(**stream);
  }(loop, peer.port(), use));
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

TEST_P(Engine, ReceivesWhatWasCutAnywhere) {
  const std::string bytes = "one byte at a time";
  ScriptedPeer peer(Script().send_byte_by_byte(bytes).close());
  with_peer(loop(), peer, [&](Stream& stream) -> Task<void> {
    EXPECT_EQ(co_await receive_all(stream), bytes);
    EXPECT_EQ(stream.traffic().received, bytes.size());
  });
}

TEST_P(Engine, ASlowReaderLosesNothingAndHoldsLittle) {
  auto listener = listen();
  const std::string bytes = pattern(4 << 20);
  std::string got;
  loop().run([](Loop& on, Listener& at, const std::string& sent, std::string& into) -> Task<void> {
    TaskScope scope;
    scope.spawn(send_all(on, at, sent));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    std::uint64_t pulled = 0;
    for (int i = 0; into.size() < sent.size(); ++i) {
      if (i < 20) {
        co_await on.sleep_for(2ms);
        // What comes unasked stays in the kernel but for a little.
        pulled = (*stream)->traffic().received - into.size();
        EXPECT_LE(pulled, 512U * 1024);
      }
      const auto piece = co_await (*stream)->receive(kPatience);
      if (!piece || piece->empty()) break;
      into += *piece;
    }
    co_await scope.join();
  }(loop(), listener, bytes, got));
  EXPECT_TRUE(got == bytes);
}

TEST_P(Engine, ReceivesIntoBuffersOfAnySize) {
  auto listener = listen();
  const std::string bytes = pattern(300'000);
  std::string got;
  loop().run([](Loop& on, Listener& at, const std::string& sent, std::string& into) -> Task<void> {
    TaskScope scope;
    scope.spawn(send_all(on, at, sent));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    std::string buffer(5000, '\0');
    for (std::size_t size = 1; into.size() < sent.size(); size = size * 3 % 5000 + 1) {
      Result<std::size_t> taken;
      while (!(*stream)->try_receive_into(buffer.data(), size, taken)) co_await on.sleep_for(100us);
      EXPECT_TRUE(taken.has_value() && *taken > 0 && *taken <= size);
      if (!taken || *taken == 0) break;
      into.append(buffer, 0, *taken);
      // Between them views and discards of what is at hand.
      if (size % 5 == 0 && into.size() < sent.size()) {
        const auto gone = co_await (*stream)->discard(1, kPatience);
        EXPECT_TRUE(gone.has_value() && *gone == 1);
        into += sent[into.size()];
      }
      if (size % 7 == 0 && into.size() < sent.size()) {
        const auto piece = co_await (*stream)->receive(kPatience);
        EXPECT_TRUE(piece.has_value());
        into += *piece;
      }
    }
    co_await scope.join();
  }(loop(), listener, bytes, got));
  EXPECT_TRUE(got == bytes);
}

TEST_P(Engine, ChangesBetweenBulkAndSmallAtAnyTime) {
  auto listener = listen();
  const std::string bytes = pattern(8 << 20);
  bool same = true;
  std::uint64_t at_byte = 0;
  loop().run([](Loop& on, Listener& at, const std::string& sent, std::uint64_t& position,
                bool& equal) -> Task<void> {
    TaskScope scope;
    scope.spawn(send_all(on, at, sent));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    for (int i = 0; position < sent.size(); ++i) {
      (*stream)->expect_bulk(i % 3 == 0);
      if (i % 5 == 4) {
        const auto gone = co_await (*stream)->discard(100'000, kPatience);
        EXPECT_TRUE(gone.has_value() && *gone <= 100'000);
        position += gone ? *gone : sent.size();
      } else {
        const auto piece = co_await (*stream)->receive(kPatience);
        if (!piece || piece->empty()) break;
        equal = equal && std::string_view(sent).substr(position, piece->size()) == *piece;
        position += piece->size();
      }
      if (i % 11 == 0) co_await on.yield();
    }
    co_await scope.join();
  }(loop(), listener, bytes, at_byte, same));
  EXPECT_EQ(at_byte, bytes.size());
  EXPECT_TRUE(same);
}

TEST_P(Engine, SendsInOrderWhateverTheSizes) {
  auto listener = listen();
  const std::string bytes = pattern(6 << 20);
  const test::TemporaryFolder folder;
  const int file = open(folder.write("blob", bytes).c_str(), O_RDONLY | O_CLOEXEC);
  std::string got;
  loop().run([](Loop& on, Listener& at, const std::string& sent, int blob, std::string& into) -> Task<void> {
    TaskScope scope;
    scope.spawn([](Loop& inner, Listener& from, const std::string& all, int source) -> Task<void> {
      auto stream = co_await from.accept(inner);
      std::size_t position = 0;
      for (std::size_t i = 0; position < all.size(); ++i) {
        // Small ones in a row, then a large one, then a piece of the file, each from where the last one ended.
        const std::size_t size = std::min(all.size() - position, i % 10 < 7 ? i * 131 % 3000 + 1 : 200'000);
        const auto piece = std::string_view(all).substr(position, size);
        Result<void> sent_piece;
        if (i % 10 == 9) {
          sent_piece = co_await (*stream)->send_file(source, position, size, kPatience);
        } else {
          sent_piece = co_await (*stream)->send(piece.substr(0, size / 3), piece.substr(size / 3), kPatience);
        }
        EXPECT_TRUE(sent_piece.has_value());
        position += size;
      }
      EXPECT_EQ((*stream)->traffic().sent, all.size());
    }(on, at, sent, blob));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    co_await on.sleep_for(20ms);  // the sender's buffer is full by now
    into = co_await receive_all(**stream);
    co_await scope.join();
  }(loop(), listener, bytes, file, got));
  close(file);
  EXPECT_TRUE(got == bytes);
}

// Small sends into a connection whose peer does not read: every byte arrives once and in order when it does.
TEST_P(Engine, SmallSendsSurviveAFullBuffer) {
  auto listener = listen();
  std::string sent;
  std::string got;
  loop().run([](Loop& on, Listener& at, std::string& from, std::string& into) -> Task<void> {
    TaskScope scope;
    Event full;
    scope.spawn([](Loop& inner, Listener& accepting, std::string& all, Event& signal) -> Task<void> {
      auto stream = co_await accepting.accept(inner);
      const int size = 16 * 1024;
      setsockopt((*stream)->descriptor(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
      for (int i = 0; i < 4000; ++i) {
        const std::string message = pattern(static_cast<std::size_t>(i) % 1500 + 1);
        all += message;
        const auto done = co_await (*stream)->send(message, {}, kPatience);
        EXPECT_TRUE(done.has_value());
        if (i % 3 == 0) co_await inner.yield();
        if (i == 1000) signal.open();
      }
      (*stream)->shutdown_send();
      EXPECT_EQ(co_await receive_all(**stream), "");
    }(on, at, from, full));
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    const int size = 16 * 1024;
    setsockopt((*stream)->descriptor(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    co_await on.sleep_for(30ms);
    into = co_await receive_all(**stream);
    stream->reset();
    co_await scope.join();
  }(loop(), listener, sent, got));
  EXPECT_TRUE(got == sent);
}

TEST_P(Engine, AFailedSendEndsInAnError) {
  ScriptedPeer peer(Script().expect_bytes(1).reset());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("x", {}, kPatience)).has_value());
    co_await stream.loop().sleep_for(20ms);
    const Instant limit = now() + 5s;
    Result<void> sent;
    while (sent && now() < limit) {
      sent = co_await stream.send("more", {}, kPatience);
      co_await stream.loop().yield();
    }
    EXPECT_FALSE(sent.has_value());
    if (!sent) EXPECT_EQ(sent.error().kind, ErrorKind::reset);
    const auto received = co_await stream.receive(kPatience);
    EXPECT_TRUE(!received || received->empty());
  });
}

TEST_P(Engine, APeersResetEndsAWaitingReceive) {
  ScriptedPeer peer(Script().expect_bytes(1).pause(5ms).reset());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("x", {}, kPatience)).has_value());
    const auto received = co_await stream.receive(kPatience);
    EXPECT_FALSE(received.has_value());
    if (!received) EXPECT_EQ(received.error().kind, ErrorKind::reset);
  });
}

TEST_P(Engine, HalfCloseLetsTheAnswerCome) {
  ScriptedPeer peer(Script().expect_end().send("all read").close());
  with_peer(loop(), peer, [&](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("request", {}, kPatience)).has_value());
    stream.shutdown_send();
    EXPECT_EQ(co_await receive_all(stream), "all read");
  });
  EXPECT_EQ(peer.received(), "request");
  EXPECT_TRUE(peer.complaints().empty());
}

TEST_P(Engine, CanSendAfterThePeerHasHalfClosed) {
  ScriptedPeer peer(Script().send("bye").half_close().expect_bytes(4));
  with_peer(loop(), peer, [&](Stream& stream) -> Task<void> {
    EXPECT_EQ(co_await receive_all(stream), "bye");
    EXPECT_TRUE((co_await stream.send("late", {}, kPatience)).has_value());
  });
  EXPECT_TRUE(peer.wait_finished());
  EXPECT_TRUE(peer.complaints().empty());
}

// What was said last is heard, though the stream goes at once.
TEST_P(Engine, DestroyingAStreamLosesNothingThatWasSent) {
  ScriptedPeer peer(Script().expect_end());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("last words", {}, kPatience)).has_value());
  });
  EXPECT_TRUE(peer.wait_finished());
  EXPECT_EQ(peer.received(), "last words");
}

TEST_P(Engine, ResetOnCloseResets) {
  ScriptedPeer peer(Script().expect_end());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    stream.reset_on_close();
    co_return;
  });
  EXPECT_TRUE(peer.wait_finished());
  ASSERT_EQ(peer.complaints().size(), 1U) << "the peer saw an orderly end";
}

// An early answer while the body is still on its way: the sender is blocked and the receiver gets it.
TEST_P(Engine, ReceivesWhileASendIsBlocked) {
  ScriptedPeer peer(Script().expect_bytes(1000).send("413").stall());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    const std::string body(64 << 20, 'x');
    Result<void> sent;
    TaskScope scope;
    scope.spawn([](Stream& to, const std::string& bytes, Result<void>& into) -> Task<void> {
      into = co_await to.send(bytes, {}, kPatience);
    }(stream, body, sent));
    const auto answer = co_await stream.receive(kPatience);
    EXPECT_TRUE(answer.has_value() && *answer == "413");
    EXPECT_EQ(scope.running(), 1U);
    stream.abort({ErrorKind::cancelled, 0, ""});
    co_await scope.join();
    EXPECT_FALSE(sent.has_value());
    if (!sent) EXPECT_EQ(sent.error().kind, ErrorKind::cancelled);
  });
}

TEST_P(Engine, ABlockedSendRunsOutOfPatience) {
  ScriptedPeer peer(Script().stall());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    const std::string body(64 << 20, 'x');
    const Instant start = now();
    const auto sent = co_await stream.send(body, {}, {.idle = 60ms});
    EXPECT_GE(now() - start, 60ms);
    EXPECT_FALSE(sent.has_value());
    if (!sent) EXPECT_EQ(sent.error().kind, ErrorKind::timeout);
  });
}

TEST_P(Engine, DeadlinesHoldWhateverMoves) {
  ScriptedPeer peer(Script().send_byte_by_byte(std::string(2000, 'x'), 2ms));
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    const Patience patience{.idle = 1s, .deadline = now() + 50ms, .deadline_kind = ErrorKind::deadline};
    for (;;) {
      const auto piece = co_await stream.receive(patience);
      if (piece) continue;
      EXPECT_EQ(piece.error().kind, ErrorKind::deadline);
      break;
    }
    EXPECT_GE(now(), patience.deadline);
    EXPECT_LE(now(), patience.deadline + 1s);
  });
}

// Both orders of destruction: the coroutine first, and the stream first.
TEST_P(Engine, AStreamDestroyedInMidSendLeavesNothingBehind) {
  const auto before = live_frames();
  for (const bool stream_first : {false, true}) {
    ScriptedPeer peer(Script().stall());
    loop().run([](Loop& on, std::uint16_t port, bool order) -> Task<void> {
      auto stream = co_await connect(on, *Address::parse_ip("127.0.0.1", port), {}, kPatience);
      auto body = std::make_unique<std::string>(32 << 20, 'x');
      Held sender([](Stream& to, const std::string& bytes) -> Task<void> {
        EXPECT_FALSE((co_await to.send("head", bytes, kPatience)).has_value());
      }(**stream, *body));
      Held receiver([](Stream& from) -> Task<void> {
        EXPECT_FALSE((co_await from.receive(kPatience)).has_value());
      }(**stream));
      co_await on.sleep_for(5ms);
      EXPECT_FALSE(sender.done());
      if (order) stream->reset();
      sender.destroy();
      receiver.destroy();
      body.reset();
      if (!order) stream->reset();
      co_await on.sleep_for(5ms);
    }(loop(), peer.port(), stream_first));
  }
  EXPECT_EQ(live_frames(), before);
}

TEST_P(Engine, KnowsWhetherAnIdleConnectionIsStillGood) {
  ScriptedPeer peer(Script().expect_bytes(1).send("a").expect_bytes(1).send("stray").expect_bytes(1).close());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("1", {}, kPatience)).has_value());
    EXPECT_EQ(co_await receive_all(stream, 1), "a");
    co_await stream.loop().sleep_for(5ms);
    EXPECT_FALSE(stream.has_news());
    EXPECT_TRUE((co_await stream.send("2", {}, kPatience)).has_value());
    co_await stream.loop().sleep_for(20ms);
    EXPECT_TRUE(stream.has_news());
    EXPECT_EQ(co_await receive_all(stream, 5), "stray");
    EXPECT_FALSE(stream.has_news());
    EXPECT_TRUE((co_await stream.send("3", {}, kPatience)).has_value());
    co_await stream.loop().sleep_for(20ms);
    EXPECT_TRUE(stream.has_news());
  });
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
