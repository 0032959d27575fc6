// TLS as a stream, over real loopback sockets, on each back end.
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/tls_fixture.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TEST_SUITE_P(Backends, Tls, kBackends, backend_name);

TEST_P(Tls, CarriesBytesBothWays) {
  const auto server = server_context();
  const auto client = client_context();
  std::string at_server;
  std::string at_client;
  std::string description;
  const auto outcome = play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> {
        at_server = co_await receive_all(stream, 12);
        co_await send_whole(stream, "and back");
      },
      [&](Stream& stream) -> Task<void> {
        description = stream.tls_description();
        EXPECT_TRUE((co_await stream.send("hello, ", "world", kPatience)).has_value());
        at_client = co_await receive_all(stream);
        EXPECT_EQ(stream.traffic().sent, 12U);
        EXPECT_EQ(stream.traffic().received, 8U);
      });
  EXPECT_TRUE(outcome.client.has_value()) << client->last_failure();
  EXPECT_EQ(at_server, "hello, world");
  EXPECT_EQ(at_client, "and back");
  EXPECT_EQ(description, "TLSv1.3, TLS_AES_256_GCM_SHA384");
  EXPECT_EQ(client->last_failure(), "");
}

TEST_P(Tls, MovesMuchBothWaysAtOnce) {
  const auto server = server_context();
  const auto client = client_context();
  const std::string bytes = pattern(12 << 20);
  const auto both = [&](Stream& stream) -> Task<void> {
    TaskScope scope;
    // An odd head before the body, so that records don't line up with anything.
    scope.spawn([](Stream& to, std::string_view all) -> Task<void> {
      EXPECT_TRUE((co_await to.send(all.substr(0, 777), all.substr(777), kPatience)).has_value());
    }(stream, bytes));
    const std::string got = co_await receive_all(stream, bytes.size());
    EXPECT_TRUE(got == bytes);
    co_await scope.join();
    EXPECT_EQ(stream.traffic().sent, bytes.size());
    EXPECT_EQ(stream.traffic().received, bytes.size());
  };
  EXPECT_TRUE(play(*server, *client, "localhost", both, both).client.has_value());
}

TEST_P(Tls, DiscardsExactlyWhatItIsAskedTo) {
  const auto server = server_context();
  const auto client = client_context();
  const std::string bytes = pattern(8 << 20);
  std::string tail;
  play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> { co_await send_whole(stream, bytes); },
      [&](Stream& stream) -> Task<void> {
        stream.expect_bulk(true);
        std::uint64_t left = bytes.size() - 1000;
        while (left > 0) {
          const auto gone = co_await stream.discard(left, kPatience);
          EXPECT_TRUE(gone.has_value());
          if (!gone || *gone == 0) break;
          left -= *gone;
        }
        tail = co_await receive_all(stream);
      });
  EXPECT_EQ(tail, bytes.substr(bytes.size() - 1000));
}

TEST_P(Tls, SendsFiles) {
  const auto server = server_context();
  const auto client = client_context();
  const std::string bytes = pattern(3 << 20);
  const test::TemporaryFolder folder;
  const int file = open(folder.write("blob", bytes).c_str(), O_RDONLY | O_CLOEXEC);
  std::string got;
  play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> {
        EXPECT_TRUE((co_await stream.send_file(file, 100, bytes.size() - 100, kPatience)).has_value());
        // The file is shorter than it is said to be.
        EXPECT_FALSE((co_await stream.send_file(file, bytes.size(), 1, kPatience)).has_value());
      },
      [&](Stream& stream) -> Task<void> { got = co_await receive_all(stream); });
  close(file);
  EXPECT_TRUE(got == std::string_view(bytes).substr(100));
}

TEST_P(Tls, EndsWithoutCloseNotifyLikeAnyStream) {
  const auto server = server_context();
  const auto client = client_context();
  std::string got;
  play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> {
        co_await send_whole(stream, "cut");
        co_await stream.loop().sleep_for(1ms);  // until what is queued has gone
        shutdown(stream.descriptor(), SHUT_WR);
        EXPECT_EQ(co_await receive_all(stream), "");
      },
      [&](Stream& stream) -> Task<void> {
        got = co_await receive_all(stream);  // expects no error
        const auto again = co_await stream.receive(kPatience);
        EXPECT_TRUE(again.has_value() && again->empty());
      });
  EXPECT_EQ(got, "cut");
}

TEST_P(Tls, SaysGoodbyeAndStillReceives) {
  const auto server = server_context();
  const auto client = client_context();
  std::string at_server;
  std::string at_client;
  play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> {
        at_server = co_await receive_all(stream);
        co_await send_whole(stream, "late answer");
      },
      [&](Stream& stream) -> Task<void> {
        co_await send_whole(stream, "question");
        stream.shutdown_send();
        at_client = co_await receive_all(stream);
      });
  EXPECT_EQ(at_server, "question");
  EXPECT_EQ(at_client, "late answer");
}

TEST_P(Tls, SessionTicketsAreNoNewsButAnEndIs) {
  const auto server = server_context();
  const auto client = client_context();
  Event close_now;
  Event closed;
  play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> {
        co_await close_now.wait();
        stream.shutdown_send();
        closed.open();
        EXPECT_EQ(co_await receive_all(stream), "");
      },
      [&](Stream& stream) -> Task<void> {
        co_await stream.loop().sleep_for(10ms);  // for the tickets that follow the handshake
        EXPECT_FALSE(stream.has_news());
        close_now.open();
        co_await closed.wait();
        const Instant limit = now() + 5s;
        while (!stream.has_news() && now() < limit) co_await stream.loop().sleep_for(1ms);
        EXPECT_TRUE(stream.has_news());
      });
}

// Passes bytes on a few at a time, so that every record is cut everywhere.
Task<void> pass_on(Stream& from, Stream& to) {
  for (std::size_t step = 1;; step = step % 7 + 1) {
    const auto piece = co_await from.receive(kPatience);
    if (!piece || piece->empty()) break;
    const std::string copy(*piece);
    for (std::size_t at = 0; at < copy.size(); at += step) {
      const auto part = std::string_view(copy).substr(at, step);
      if (!co_await to.send(part, {}, kPatience)) co_return;
    }
  }
  to.shutdown_send();
}

TEST_P(Tls, RecordsMayBeCutAnywhere) {
  const auto server = server_context();
  const auto client = client_context();
  const std::string bytes = pattern(20'000);
  auto listener = listen();
  auto relay = listen();
  std::string got;
  loop().run([](Loop& on, Listener& at, Listener& between, TlsContext& ours, TlsContext& theirs,
                const std::string& sent, std::string& into) -> Task<void> {
    TaskScope scope;
    Side serve = [&](Stream& stream) -> Task<void> {
      const std::string asked = co_await receive_all(stream, sent.size());
      EXPECT_TRUE(asked == sent);
      co_await send_whole(stream, asked);
    };
    Result<void> accepted;
    scope.spawn(accept_and_play(on, at, ours, serve, accepted));
    scope.spawn([](Loop& inner, Listener& entry, const Listener& exit) -> Task<void> {
      auto near = co_await entry.accept(inner);
      auto far = co_await connect(inner, exit.address(), {}, kPatience);
      TaskScope directions;
      directions.spawn(pass_on(**near, **far));
      co_await pass_on(**far, **near);
      co_await directions.join();
    }(on, between, at));
    auto plain = co_await connect(on, between.address(), {}, kPatience);
    auto stream = co_await tls_connect(std::move(*plain), theirs, "localhost", kPatience);
    EXPECT_TRUE(stream.has_value()) << theirs.last_failure();
    co_await send_whole(**stream, sent);
    into = co_await receive_all(**stream);
    stream->reset();
    co_await scope.join();
    EXPECT_TRUE(accepted.has_value());
  }(loop(), listener, relay, *server, *client, bytes, got));
  EXPECT_TRUE(got == bytes);
}

TEST_P(Tls, AbortEndsAWaitingReceive) {
  const auto server = server_context();
  const auto client = client_context();
  Result<void> outcome;
  Event done;
  play(
      *server, *client, "localhost", [&](Stream& /*stream*/) -> Task<void> { co_await done.wait(); },
      [&](Stream& stream) -> Task<void> {
        TaskScope scope;
        scope.spawn([](Loop& on) -> Task<void> {
          co_await on.sleep_for(5ms);
          on.abort_streams({ErrorKind::cancelled, 0, ""});
        }(stream.loop()));
        const auto piece = co_await stream.receive(kPatience);
        if (!piece) outcome = piece.error();
        co_await scope.join();
        done.open();
      });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::cancelled);
}

TEST_P(Tls, ASenderThatGivesUpLeavesNothingBehind) {
  const auto server = server_context();
  const auto client = client_context();
  Result<void> outcome;
  Event done;
  play(
      *server, *client, "localhost", [&](Stream& /*stream*/) -> Task<void> { co_await done.wait(); },
      [&](Stream& stream) -> Task<void> {
        const std::string bytes(64 << 20, 'x');
        outcome = co_await stream.send(bytes, {}, {.idle = 50ms});
        done.open();
      });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::timeout);
}

// A sanitizer's allocator would tell nothing about sizes.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
// Both ends of idle connections that have moved 128 KiB each way.
TEST_P(Tls, IdleConnectionsAreSmall) {
  const auto server = server_context();
  const auto client = client_context();
  auto listener = listen();
  double per_end = 0;
  loop().run([](Loop& on, Listener& at, TlsContext& ours, TlsContext& theirs, double& into) -> Task<void> {
    constexpr int kConnections = 100;
    std::vector<std::unique_ptr<Stream>> ends;
    const std::string bytes(1 << 17, 'x');
    std::size_t before = 0;
    for (int i = 0; i <= kConnections; ++i) {
      TaskScope scope;
      scope.spawn([](Loop& inner, Listener& from, TlsContext& context,
                     std::vector<std::unique_ptr<Stream>>& all) -> Task<void> {
        auto plain = co_await from.accept(inner);
        auto stream = co_await tls_accept(std::move(*plain), context, kPatience);
        const std::string got = co_await receive_all(**stream, 1 << 17);
        co_await send_whole(**stream, got);
        all.push_back(std::move(*stream));
      }(on, at, ours, ends));
      auto plain = co_await connect(on, at.address(), {}, kPatience);
      auto stream = co_await tls_connect(std::move(*plain), theirs, "localhost", kPatience);
      co_await send_whole(**stream, bytes);
      EXPECT_EQ((co_await receive_all(**stream, bytes.size())).size(), bytes.size());
      ends.push_back(std::move(*stream));
      co_await scope.join();
      // The first connection brings what is shared.
      if (i == 0) before = mallinfo2().uordblks;
    }
    into = static_cast<double>(mallinfo2().uordblks - before) / (2 * kConnections);
  }(loop(), listener, *server, *client, per_end));
  EXPECT_LT(per_end, 40 * 1024);
  RecordProperty("bytes_per_connection", static_cast<int>(per_end));
}
#endif

}  // namespace
}  // namespace plimsoll::net
