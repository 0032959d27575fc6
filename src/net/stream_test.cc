// Streams over real loopback sockets, and peers that misbehave; on each back end that the system allows.
#include "net/stream.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "net/engine_fixture.h"
#include "tests/support/certificates.h"
#include "tests/support/scripted_peer.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;
using test::Script;
using test::ScriptedPeer;

class Streams : public Engine {};

INSTANTIATE_TEST_SUITE_P(Backends, Streams, kBackends, backend_name);

TEST_P(Streams, MovesMoreThanTheBuffersHold) {
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

TEST_P(Streams, DiscardsWithoutLooking) {
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

// A peer that plays a script, and what one connection to it does.
void with_peer(Loop& loop, const ScriptedPeer& peer, const std::function<Task<void>(Stream&)>& use) {
  loop.run([](Loop& on, std::uint16_t port, const std::function<Task<void>(Stream&)>& body) -> Task<void> {
    auto stream = co_await connect(on, *Address::parse_ip("127.0.0.1", port), {}, kPatience);
    EXPECT_TRUE(stream.has_value());
    if (stream) co_await body(**stream);
  }(loop, peer.port(), use));
}

TEST_P(Streams, ReceivesWhatWasCutAnywhere) {
  const std::string bytes = "one byte at a time";
  ScriptedPeer peer(Script().send_byte_by_byte(bytes).close());
  with_peer(loop(), peer, [&](Stream& stream) -> Task<void> {
    EXPECT_EQ(co_await receive_all(stream), bytes);
    EXPECT_EQ(stream.traffic().received, bytes.size());
  });
}

TEST_P(Streams, ASlowReaderLosesNothingAndHoldsLittle) {
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

TEST_P(Streams, ReceivesIntoBuffersOfAnySize) {
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

TEST_P(Streams, ChangesBetweenBulkAndSmallAtAnyTime) {
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

TEST_P(Streams, SendsInOrderWhateverTheSizes) {
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
TEST_P(Streams, SmallSendsSurviveAFullBuffer) {
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

// A peer that is faster than we are: what is received is never all there is, yet timers and others have their turn.
TEST_P(Streams, AFastPeerDoesNotStarveTheLoop) {
  ScriptedPeer peer(Script().send_filler(64 << 20).close());
  int ticks = 0;
  bool finished = false;
  with_peer(loop(), peer, [&](Stream& stream) -> Task<void> {
    TaskScope scope;
    scope.spawn([](Loop& on, const bool& done, int& count) -> Task<void> {
      while (!done) {
        co_await on.sleep_for(100us);
        ++count;
      }
    }(stream.loop(), finished, ticks));
    stream.expect_bulk(true);
    std::uint64_t got = 0;
    while (got < 64 << 20) {
      const auto piece = co_await stream.receive(kPatience);
      EXPECT_TRUE(piece.has_value() && !piece->empty());
      if (!piece || piece->empty()) break;
      got += piece->size();
      // The work that makes the reader the slower one.
      for (const Instant until = now() + Nanos(piece->size() / 2); now() < until;) {
      }
    }
    finished = true;
    co_await scope.join();
  });
  EXPECT_GE(ticks, 32);
}

TEST_P(Streams, SendsNoMoreThanItsShareInOneTurn) {
  auto listener = listen();
  const std::string bytes = pattern(8 << 20);
  std::string got;
  loop().run([](Loop& on, Listener& at, const std::string& sent, std::string& into) -> Task<void> {
    auto stream = co_await connect(on, at.address(), {}, kPatience);
    auto peer = co_await at.accept(on);
    TaskScope scope;
    scope.spawn([](Stream& to, std::string_view all) -> Task<void> {
      EXPECT_TRUE((co_await to.send(all.substr(0, 1000), all.substr(1000), kPatience)).has_value());
    }(**stream, sent));
    EXPECT_LE((*stream)->traffic().sent, Stream::kShare);
    into = co_await receive_all(**peer, sent.size());
    co_await scope.join();
  }(loop(), listener, bytes, got));
  EXPECT_TRUE(got == bytes);
}

TEST_P(Streams, AFailedSendEndsInAnError) {
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

TEST_P(Streams, APeersResetEndsAWaitingReceive) {
  ScriptedPeer peer(Script().expect_bytes(1).pause(5ms).reset());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("x", {}, kPatience)).has_value());
    const auto received = co_await stream.receive(kPatience);
    EXPECT_FALSE(received.has_value());
    if (!received) EXPECT_EQ(received.error().kind, ErrorKind::reset);
  });
}

TEST_P(Streams, HalfCloseLetsTheAnswerCome) {
  ScriptedPeer peer(Script().expect_end().send("all read").close());
  with_peer(loop(), peer, [&](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("request", {}, kPatience)).has_value());
    stream.shutdown_send();
    EXPECT_EQ(co_await receive_all(stream), "all read");
  });
  EXPECT_EQ(peer.received(), "request");
  EXPECT_TRUE(peer.complaints().empty());
}

TEST_P(Streams, CanSendAfterThePeerHasHalfClosed) {
  ScriptedPeer peer(Script().send("bye").half_close().expect_bytes(4));
  with_peer(loop(), peer, [&](Stream& stream) -> Task<void> {
    EXPECT_EQ(co_await receive_all(stream), "bye");
    EXPECT_TRUE((co_await stream.send("late", {}, kPatience)).has_value());
  });
  EXPECT_TRUE(peer.wait_finished());
  EXPECT_TRUE(peer.complaints().empty());
}

// What was said last is heard, though the stream goes at once.
TEST_P(Streams, DestroyingAStreamLosesNothingThatWasSent) {
  ScriptedPeer peer(Script().expect_end());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("last words", {}, kPatience)).has_value());
  });
  EXPECT_TRUE(peer.wait_finished());
  EXPECT_EQ(peer.received(), "last words");
}

TEST_P(Streams, ResetOnCloseResets) {
  ScriptedPeer peer(Script().expect_end());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    stream.reset_on_close();
    co_return;
  });
  EXPECT_TRUE(peer.wait_finished());
  ASSERT_EQ(peer.complaints().size(), 1U) << "the peer saw an orderly end";
}

// An early answer while the body is still on its way: the sender is blocked and the receiver gets it.
TEST_P(Streams, ReceivesWhileASendIsBlocked) {
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

TEST_P(Streams, ABlockedSendRunsOutOfPatience) {
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

TEST_P(Streams, DeadlinesHoldWhateverMoves) {
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
    EXPECT_LE(now(), patience.deadline + 5s);
  });
}

// Both orders of destruction: the coroutine first, and the stream first.
TEST_P(Streams, AStreamDestroyedInMidSendLeavesNothingBehind) {
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

Task<bool> news_come(Stream& stream) {
  for (const Instant limit = now() + 5s; !stream.has_news() && now() < limit;) {
    co_await stream.loop().sleep_for(1ms);
  }
  co_return stream.has_news();
}

TEST_P(Streams, KnowsWhetherAnIdleConnectionIsStillGood) {
  ScriptedPeer peer(Script().expect_bytes(1).send("a").expect_bytes(1).send("stray").expect_bytes(1).close());
  with_peer(loop(), peer, [](Stream& stream) -> Task<void> {
    EXPECT_TRUE((co_await stream.send("1", {}, kPatience)).has_value());
    EXPECT_EQ(co_await receive_all(stream, 1), "a");
    co_await stream.loop().sleep_for(5ms);
    EXPECT_FALSE(stream.has_news());
    EXPECT_TRUE((co_await stream.send("2", {}, kPatience)).has_value());
    EXPECT_TRUE(co_await news_come(stream));
    EXPECT_EQ(co_await receive_all(stream, 5), "stray");
    EXPECT_FALSE(stream.has_news());
    EXPECT_TRUE((co_await stream.send("3", {}, kPatience)).has_value());
    EXPECT_TRUE(co_await news_come(stream));
  });
}

}  // namespace
}  // namespace plimsoll::net
