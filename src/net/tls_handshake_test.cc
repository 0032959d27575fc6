// TLS handshakes: who is believed, who is refused and why, and peers that speak something else.
#include <openssl/ssl.h>

#include "net/tls_fixture.h"
#include "tests/support/scripted_peer.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;
using test::CertificateFiles;
using test::Script;
using test::ScriptedPeer;
using test::TestAuthority;

class TlsHandshake : public Tls {
 protected:
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
};

INSTANTIATE_TEST_SUITE_P(Backends, TlsHandshake, kBackends, backend_name);

TEST_P(TlsHandshake, SpeaksTheOlderVersionToo) {
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

TEST_P(TlsHandshake, RefusesACertificateForAnotherHost) {
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

TEST_P(TlsHandshake, ChecksIpAddressesAndTrailingDots) {
  const auto server = server_context({"127.0.0.1", "::1", "localhost"});
  const auto client = client_context();
  for (const auto* host : {"127.0.0.1", "::1", "[::1]", "localhost", "localhost."}) {
    EXPECT_TRUE(play(*server, *client, host).client.has_value()) << host << ": " << client->last_failure();
  }
  const auto other = play(*server, *client, "127.0.0.2");
  ASSERT_FALSE(other.client.has_value());
  EXPECT_STREQ(other.client.error().text, "IP address mismatch");
}

TEST_P(TlsHandshake, RefusesAnUnknownAuthority) {
  const auto server = server_context();
  const TestAuthority other("Another");
  const auto client = std::move(*TlsContext::client({.ca_file = other.ca_file()}));
  const auto outcome = play(*server, *client, "localhost");
  ASSERT_FALSE(outcome.client.has_value());
  EXPECT_EQ(outcome.client.error().kind, ErrorKind::tls);
  EXPECT_STREQ(outcome.client.error().text, "unable to get local issuer certificate");
}

TEST_P(TlsHandshake, TrustsTheSystemsStoreAloneByDefault) {
  const auto server = server_context();
  const auto client = std::move(*TlsContext::client({}));
  EXPECT_EQ(play(*server, *client, "localhost").client.error().kind, ErrorKind::tls);
}

TEST_P(TlsHandshake, RefusesAnExpiredCertificate) {
  const CertificateFiles files = authority_.issue({"localhost"}, -1h);
  const auto server = std::move(*TlsContext::server({.certificate = files.certificate, .key = files.key}));
  const auto client = client_context();
  const auto outcome = play(*server, *client, "localhost");
  ASSERT_FALSE(outcome.client.has_value());
  EXPECT_STREQ(outcome.client.error().text, "certificate has expired");
}

TEST_P(TlsHandshake, InsecureAcceptsThemAll) {
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

TEST_P(TlsHandshake, PresentsAClientCertificateWhereOneIsAsked) {
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

TEST_P(TlsHandshake, AgreesOnAProtocol) {
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

TEST_P(TlsHandshake, NamesTheHostInTheHello) {
  ScriptedPeer peer(Script().expect_bytes(200).reset());
  const auto result = shake_hands_with(peer, "registry.example");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::reset);
  EXPECT_NE(peer.received(0).find("registry.example"), std::string::npos);
  EXPECT_FALSE(shake_hands_with(peer, "127.0.0.1").has_value());
  EXPECT_EQ(peer.received(1).find("127.0.0.1"), std::string::npos);
}

TEST_P(TlsHandshake, APeerThatTalksPlainTextIsATlsError) {
  ScriptedPeer peer(Script().expect_bytes(5).send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
  const auto result = shake_hands_with(peer, "localhost");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::tls);
  EXPECT_STREQ(result.error().text, "wrong version number");
}

TEST_P(TlsHandshake, APeerThatClosesInTheHandshakeIsATlsError) {
  ScriptedPeer peer(Script().expect_bytes(5).close());
  const auto result = shake_hands_with(peer, "localhost");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::tls);
  EXPECT_NE(std::string(result.error().text).find("closed the connection"), std::string::npos);
}

TEST_P(TlsHandshake, ASilentPeerTimesOut) {
  ScriptedPeer peer(Script().silence());
  const auto result = shake_hands_with(peer, "localhost", {.idle = 30ms});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::timeout);
}

TEST_P(TlsHandshake, AServerRefusesAClientThatTalksPlainText) {
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
