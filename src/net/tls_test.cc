// TLS over real loopback sockets, on each back end, with certificates made for the occasion.
#include "net/tls.h"

#include <fcntl.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "net/engine_fixture.h"
#include "tests/support/certificates.h"
#include "tests/support/scripted_peer.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;
using test::CertificateFiles;
using test::Script;
using test::ScriptedPeer;
using test::TestAuthority;

using StreamPtr = std::unique_ptr<Stream>;
// What one side of a test's connection does.
using Side = std::function<Task<void>(Stream&)>;

Task<void> nothing(Stream& /*stream*/) {
  co_return;
}

class Tls : public Engine {
 protected:
  struct Outcome {
    Result<void> client;
    Result<void> server;
    std::string client_failure;
  };

  std::unique_ptr<TlsContext> server_context(std::vector<std::string> names = {"localhost"}) {
    const CertificateFiles files = authority_.issue(names);
    return std::move(*TlsContext::server({.certificate = files.certificate, .key = files.key}));
  }
  std::unique_ptr<TlsContext> client_context() {
    return std::move(*TlsContext::client({.ca_file = authority_.ca_file()}));
  }

  // Connects, shakes hands as `host`, and plays both sides.
  Outcome play(TlsContext& server, TlsContext& client, const std::string& host, Side serve = nothing,
               Side use = nothing) {
    Outcome outcome;
    auto listener = listen();
    loop().run([](Loop& on, Listener& at, TlsContext& ours, TlsContext& theirs, const std::string& name,
                  Side& server_side, Side& client_side, Outcome& into) -> Task<void> {
      TaskScope scope;
      scope.spawn(accept_and_play(on, at, ours, server_side, into.server));
      auto plain = co_await connect(on, at.address(), {}, kPatience);
      auto stream = co_await tls_connect(std::move(*plain), theirs, name, kPatience);
      if (stream) {
        co_await client_side(**stream);
      } else {
        into.client = stream.error();
        into.client_failure = theirs.last_failure();
      }
      if (stream) stream->reset();
      co_await scope.join();
    }(loop(), listener, server, client, host, serve, use, outcome));
    return outcome;
  }

  static Task<void> accept_and_play(Loop& on, Listener& at, TlsContext& context, Side& side,
                                    Result<void>& into) {
    auto plain = co_await at.accept(on);
    auto stream = co_await tls_accept(std::move(*plain), context, kPatience);
    if (stream) {
      co_await side(**stream);
    } else {
      into = stream.error();
    }
  }

  // The handshake of a client with a peer that plays a script.
  Result<void> shake_hands_with(ScriptedPeer& peer, const std::string& host, Patience patience = kPatience) {
    Result<void> result;
    auto context = client_context();
    loop().run([](Loop& on, std::uint16_t port, TlsContext& theirs, const std::string& name, Patience limit,
                  Result<void>& into) -> Task<void> {
      auto plain = co_await connect(on, *Address::parse_ip("127.0.0.1", port), {}, kPatience);
      const auto stream = co_await tls_connect(std::move(*plain), theirs, name, limit);
      if (!stream) into = stream.error();
    }(loop(), peer.port(), *context, host, patience, result));
    return result;
  }

  TestAuthority authority_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Tls, kBackends, backend_name);

Task<void> send_whole(Stream& stream, std::string_view bytes) {
  const auto sent = co_await stream.send(bytes, {}, kPatience);
  EXPECT_TRUE(sent.has_value());
}

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

TEST_P(Tls, SpeaksTheOlderVersionToo) {
  const auto server = server_context();
  SSL_CTX_set_max_proto_version(server->native(), TLS1_2_VERSION);
  const auto client = client_context();
  std::string got;
  const auto outcome = play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> { co_await send_whole(stream, "old"); },
      [&](Stream& stream) -> Task<void> {
        EXPECT_TRUE(stream.tls_description().starts_with("TLSv1.2, ")) << stream.tls_description();
        got = co_await receive_all(stream);
      });
  EXPECT_TRUE(outcome.client.has_value());
  EXPECT_EQ(got, "old");
}

TEST_P(Tls, RefusesACertificateForAnotherHost) {
  const auto server = server_context({"registry.example"});
  const auto client = client_context();
  const auto outcome = play(*server, *client, "localhost");
  ASSERT_FALSE(outcome.client.has_value());
  EXPECT_EQ(outcome.client.error().kind, ErrorKind::tls);
  EXPECT_STREQ(outcome.client.error().text, "hostname mismatch");
  EXPECT_EQ(
      outcome.client_failure,
      "certificate verify failed: hostname mismatch (certificate of CN = registry.example, issued by CN = "
      "Test Authority)");
  // The server has been told by an alert.
  ASSERT_FALSE(outcome.server.has_value());
  EXPECT_EQ(outcome.server.error().kind, ErrorKind::tls);
  EXPECT_NE(server->last_failure().find("alert"), std::string::npos) << server->last_failure();
}

TEST_P(Tls, ChecksIpAddressesAndTrailingDots) {
  const auto server = server_context({"127.0.0.1", "::1", "localhost"});
  const auto client = client_context();
  for (const auto* host : {"127.0.0.1", "::1", "[::1]", "localhost", "localhost."}) {
    EXPECT_TRUE(play(*server, *client, host).client.has_value()) << host << ": " << client->last_failure();
  }
  const auto other = play(*server, *client, "127.0.0.2");
  ASSERT_FALSE(other.client.has_value());
  EXPECT_STREQ(other.client.error().text, "IP address mismatch");
}

TEST_P(Tls, RefusesAnUnknownAuthority) {
  const auto server = server_context();
  const TestAuthority other("Another");
  const auto client = std::move(*TlsContext::client({.ca_file = other.ca_file()}));
  const auto outcome = play(*server, *client, "localhost");
  ASSERT_FALSE(outcome.client.has_value());
  EXPECT_EQ(outcome.client.error().kind, ErrorKind::tls);
  EXPECT_STREQ(outcome.client.error().text, "unable to get local issuer certificate");
}

TEST_P(Tls, TrustsTheSystemsStoreAloneByDefault) {
  const auto server = server_context();
  const auto client = std::move(*TlsContext::client({}));
  EXPECT_EQ(play(*server, *client, "localhost").client.error().kind, ErrorKind::tls);
}

TEST_P(Tls, RefusesAnExpiredCertificate) {
  const CertificateFiles files = authority_.issue({"localhost"}, -1h);
  const auto server = std::move(*TlsContext::server({.certificate = files.certificate, .key = files.key}));
  const auto client = client_context();
  const auto outcome = play(*server, *client, "localhost");
  ASSERT_FALSE(outcome.client.has_value());
  EXPECT_STREQ(outcome.client.error().text, "certificate has expired");
}

TEST_P(Tls, InsecureAcceptsThemAll) {
  const auto client = std::move(*TlsContext::client({.insecure = true}));
  const CertificateFiles expired = authority_.issue({"elsewhere"}, -1h);
  const auto server =
      std::move(*TlsContext::server({.certificate = expired.certificate, .key = expired.key}));
  std::string got;
  const auto outcome = play(
      *server, *client, "localhost",
      [&](Stream& stream) -> Task<void> { co_await send_whole(stream, "trust me"); },
      [&](Stream& stream) -> Task<void> { got = co_await receive_all(stream); });
  EXPECT_TRUE(outcome.client.has_value());
  EXPECT_EQ(got, "trust me");
}

TEST_P(Tls, PresentsAClientCertificateWhereOneIsAsked) {
  const CertificateFiles files = authority_.issue({"localhost"});
  const TestAuthority clients("Clients");
  const auto server = std::move(*TlsContext::server(
      {.certificate = files.certificate, .key = files.key, .client_ca = clients.ca_file()}));
  const CertificateFiles mine = clients.issue({"somebody"});
  const auto client = std::move(*TlsContext::client(
      {.ca_file = authority_.ca_file(), .certificate = mine.certificate, .key = mine.key}));
  std::string got;
  const auto serve = [](Stream& stream) -> Task<void> { co_await send_whole(stream, "welcome"); };
  const auto outcome = play(*server, *client, "localhost", serve,
                            [&](Stream& stream) -> Task<void> { got = co_await receive_all(stream); });
  EXPECT_TRUE(outcome.server.has_value());
  EXPECT_EQ(got, "welcome");

  // In TLS 1.3 the client learns of the refusal only when it receives.
  const auto nameless = client_context();
  Result<void> refusal;
  const auto refused = play(*server, *nameless, "localhost", serve, [&](Stream& stream) -> Task<void> {
    const auto piece = co_await stream.receive(kPatience);
    if (!piece) refusal = piece.error();
  });
  EXPECT_EQ(refused.server.error().kind, ErrorKind::tls);
  ASSERT_FALSE(refusal.has_value());
  EXPECT_EQ(refusal.error().kind, ErrorKind::tls);
  EXPECT_STREQ(refusal.error().text, "tlsv13 alert certificate required");
}

TEST_P(Tls, AgreesOnAProtocol) {
  const CertificateFiles files = authority_.issue({"localhost"});
  const auto agreed = [&](std::vector<std::string> offered, std::vector<std::string> known) {
    const auto server = std::move(
        *TlsContext::server({.certificate = files.certificate, .key = files.key, .alpn = std::move(known)}));
    const auto client =
        std::move(*TlsContext::client({.ca_file = authority_.ca_file(), .alpn = std::move(offered)}));
    std::string at_client;
    std::string at_server;
    play(
        *server, *client, "localhost",
        [&](Stream& stream) -> Task<void> {
          at_server = stream.alpn();
          co_return;
        },
        [&](Stream& stream) -> Task<void> {
          at_client = stream.alpn();
          co_return;
        });
    EXPECT_EQ(at_client, at_server);
    return at_client;
  };
  EXPECT_EQ(agreed({"h2", "http/1.1"}, {"h2", "http/1.1"}), "h2");
  EXPECT_EQ(agreed({"h2", "http/1.1"}, {"http/1.1"}), "http/1.1");
  EXPECT_EQ(agreed({"h2", "http/1.1"}, {"http/1.1", "h2"}), "http/1.1");
  EXPECT_EQ(agreed({"h2"}, {"http/1.1"}), "");
  EXPECT_EQ(agreed({"h2"}, {}), "");
  EXPECT_EQ(agreed({}, {"h2"}), "");
}

TEST_P(Tls, NamesTheHostInTheHello) {
  ScriptedPeer peer(Script().expect_bytes(200).reset());
  const auto result = shake_hands_with(peer, "registry.example");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::reset);
  EXPECT_NE(peer.received(0).find("registry.example"), std::string::npos);
  EXPECT_FALSE(shake_hands_with(peer, "127.0.0.1").has_value());
  EXPECT_EQ(peer.received(1).find("127.0.0.1"), std::string::npos);
}

TEST_P(Tls, APeerThatTalksPlainTextIsATlsError) {
  ScriptedPeer peer(Script().expect_bytes(5).send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
  const auto result = shake_hands_with(peer, "localhost");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::tls);
  EXPECT_STREQ(result.error().text, "wrong version number");
}

TEST_P(Tls, APeerThatClosesInTheHandshakeIsATlsError) {
  ScriptedPeer peer(Script().expect_bytes(5).close());
  const auto result = shake_hands_with(peer, "localhost");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::tls);
  EXPECT_NE(std::string(result.error().text).find("closed the connection"), std::string::npos);
}

TEST_P(Tls, ASilentPeerTimesOut) {
  ScriptedPeer peer(Script().silence());
  const auto result = shake_hands_with(peer, "localhost", {.idle = 30ms});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::timeout);
}

TEST_P(Tls, AServerRefusesAClientThatTalksPlainText) {
  const auto server = server_context();
  auto listener = listen();
  Result<void> outcome;
  loop().run([](Loop& on, Listener& at, TlsContext& ours, Result<void>& into) -> Task<void> {
    TaskScope scope;
    Side side = nothing;
    scope.spawn(accept_and_play(on, at, ours, side, into));
    auto plain = co_await connect(on, at.address(), {}, kPatience);
    EXPECT_TRUE((co_await (*plain)->send("GET / HTTP/1.1\r\n\r\n", {}, kPatience)).has_value());
    co_await scope.join();
  }(loop(), listener, *server, outcome));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::tls);
  EXPECT_STREQ(outcome.error().text, "http request");
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
        co_await stream.loop().sleep_for(10ms);
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

// Both ends of idle connections that have moved 128 KiB each way.
TEST_P(Tls, IdleConnectionsAreSmall) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer's allocator tells nothing";
#endif
#endif
  const auto server = server_context();
  const auto client = client_context();
  auto listener = listen();
  double per_end = 0;
  loop().run([](Loop& on, Listener& at, TlsContext& ours, TlsContext& theirs, double& into) -> Task<void> {
    constexpr int kConnections = 100;
    std::vector<StreamPtr> ends;
    const std::string bytes(1 << 17, 'x');
    std::size_t before = 0;
    for (int i = 0; i <= kConnections; ++i) {
      TaskScope scope;
      scope.spawn(
          [](Loop& inner, Listener& from, TlsContext& context, std::vector<StreamPtr>& all) -> Task<void> {
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

TEST(TlsContext, RefusalsNameTheFileAndTheReason) {
  const TestAuthority authority;
  const test::TemporaryFolder folder;
  const CertificateFiles one = authority.issue({"localhost"});
  const CertificateFiles two = authority.issue({"localhost"});
  const std::string garbage = folder.write("garbage.pem", "not a certificate");
  const auto client_refusal = [](const TlsClientOptions& options) {
    const auto context = TlsContext::client(options);
    return context ? std::string("accepted") : context.error().message;
  };
  const auto server_refusal = [](const TlsServerOptions& options) {
    const auto context = TlsContext::server(options);
    return context ? std::string("accepted") : context.error().message;
  };
  EXPECT_EQ(client_refusal({.ca_file = "/nonexistent/ca.pem"}),
            "cannot use the CA certificates '/nonexistent/ca.pem': No such file or directory");
  EXPECT_NE(client_refusal({.ca_file = garbage}).find(garbage), std::string::npos);
  EXPECT_EQ(client_refusal({.certificate = one.certificate}),
            "a TLS certificate and its key go together: the key is missing");
  EXPECT_EQ(client_refusal({.key = one.key}),
            "a TLS certificate and its key go together: the certificate is missing");
  EXPECT_EQ(client_refusal({.certificate = one.certificate, .key = two.key}),
            "cannot use the key '" + two.key + "': key values mismatch");
  EXPECT_NE(client_refusal({.certificate = garbage, .key = one.key}).find("cannot use the certificate"),
            std::string::npos);
  EXPECT_NE(client_refusal({.alpn = {std::string(256, 'x')}}).find("ALPN"), std::string::npos);
  EXPECT_EQ(server_refusal({}), "a TLS server needs a certificate and its key");
  EXPECT_EQ(server_refusal({.certificate = one.certificate, .key = one.key, .client_ca = "/nonexistent"}),
            "cannot use the CA certificates '/nonexistent': No such file or directory");
  // An encrypted key asks nobody for its password.
  const std::string encrypted =
      folder.write("encrypted.key",
                   "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                   "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgwAAAAAAAAAAICCAAw\n"
                   "-----END ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_NE(client_refusal({.certificate = one.certificate, .key = encrypted}).find("cannot use the key"),
            std::string::npos);
}

}  // namespace
}  // namespace plimsoll::net
