// The client against the scripted peer: traps of connections, uploads and silence, on each back end.
#include "http/client.h"

#include <gtest/gtest.h>

#include <functional>

#include "http/connector.h"
#include "net/connect.h"
#include "net/loop.h"
#include "tests/support/scripted_peer.h"

namespace plimsoll::http {
namespace {

using namespace std::chrono_literals;
using test::Script;
using test::ScriptedPeer;

class PeerConnector final : public Connector {
 public:
  explicit PeerConnector(const ScriptedPeer& peer) : port_(peer.port()) {}
  net::Task<Result<Opened>> open(net::Loop& loop, net::Patience patience) override {
    auto stream = co_await net::connect(loop, *net::Address::parse_ip("127.0.0.1", port_), {}, patience);
    if (!stream) co_return stream.error();
    co_return Opened{.stream = std::move(*stream)};
  }

 private:
  std::uint16_t port_;
};

class Observed final : public ConnectionObserver {
 public:
  void opened(Nanos, Nanos, bool replaces_closed) override {
    ++opened_count;
    reconnected += replaces_closed ? 1 : 0;
  }
  void reused() override { ++reused_count; }
  int opened_count = 0;
  int reused_count = 0;
  int reconnected = 0;
};

class Collected final : public BodySink {
 public:
  void data(std::string_view bytes) override { text += bytes; }
  std::string text;
};

// A body of zeros that is handed out in pieces, with or without a length said.
class ZeroBody final : public RequestBody {
 public:
  ZeroBody(std::uint64_t size, bool chunked) : size_(size), chunked_(chunked), piece_(64 * 1024, '\0') {}
  std::optional<std::uint64_t> length() const override {
    return chunked_ ? std::nullopt : std::optional<std::uint64_t>(size_);
  }
  BodyPiece piece(std::uint64_t offset) const override {
    return {.bytes =
                std::string_view(piece_).substr(0, std::min<std::uint64_t>(piece_.size(), size_ - offset))};
  }

 private:
  std::uint64_t size_;
  bool chunked_;
  std::string piece_;
};

Request request_of(Method method, const RequestBody* body = nullptr) {
  Request request;
  request.method = method;
  request.body = body;
  return request;
}

struct Seen {
  Result<int> status = Error{};
  std::string body;
  bool early = false;
};

class ClientTest : public testing::TestWithParam<net::IoKind> {
 protected:
  void SetUp() override {
    auto loop = net::Loop::create(GetParam());
    if (!loop) GTEST_SKIP() << loop.error().message;
    loop_ = std::move(*loop);
  }

  // One request after the other, over one client.
  std::vector<Seen> send(const ScriptedPeer& peer, std::vector<Request> requests,
                         net::Patience patience = {.idle = 5s}) {
    PeerConnector connector(peer);
    std::vector<Seen> seen;
    loop_->run([](net::Loop& loop, Connector& to, Observed& observer, std::vector<Request> all,
                  net::Patience limit, std::vector<Seen>& into) -> net::Task<void> {
      Client client(loop, to, {.connect_patience = {.idle = 5s}}, &observer);
      for (Request& request : all) {
        request.authority = "registry.test";
        Collected body;
        const auto answer = co_await client.exchange(request, &body, limit);
        into.push_back({.status = answer ? Result<int>(answer->status()) : Result<int>(answer.error()),
                        .body = body.text,
                        .early = answer && answer->early});
      }
    }(*loop_, connector, observed_, std::move(requests), patience, seen));
    return seen;
  }

  std::unique_ptr<net::Loop> loop_;
  Observed observed_;
};

INSTANTIATE_TEST_SUITE_P(Backends, ClientTest, testing::Values(net::IoKind::epoll, net::IoKind::uring),
                         [](const auto& param) { return std::string(name(param.param)); });

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_P(ClientTest, Trap16ReconnectsAfterAnIdleClose) {
  ScriptedPeer peer({Script().expect_head().send(std::string(kOk)).close(),
                     Script().expect_head().send(std::string(kOk)).again()});
  const auto seen = send(peer, {{}, {}, {}});
  for (const Seen& one : seen) EXPECT_EQ(one.status.value_or(0), 200);
  EXPECT_EQ(peer.connections(), 2U);
  EXPECT_EQ(observed_.opened_count, 2);
  EXPECT_EQ(observed_.reconnected, 1);
}

TEST_P(ClientTest, Trap16AnnouncedCloseIsNoError) {
  ScriptedPeer peer({Script()
                         .expect_head()
                         .send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                         .close()});
  const auto seen = send(peer, {{}, {}});
  EXPECT_EQ(seen[0].status.value_or(0), 200);
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(observed_.reconnected, 1);
}

TEST_P(ClientTest, Trap16CloseInTheMiddleIsAnError) {
  ScriptedPeer peer(
      {Script().expect_head().send(std::string(kOk)).expect_head().send("HTTP/1.1 200 O").close(),
       Script().expect_head().send(std::string(kOk)).again()});
  const auto seen = send(peer, {{}, {}});
  ASSERT_FALSE(seen[1].status.has_value());
  EXPECT_EQ(seen[1].status.error().kind, ErrorKind::closed);
  EXPECT_EQ(peer.connections(), 1U);
}

TEST_P(ClientTest, Trap16AFreshConnectionIsNotRetried) {
  ScriptedPeer peer(Script().expect_head().close());
  const auto seen = send(peer, {{}});
  ASSERT_FALSE(seen[0].status.has_value());
  EXPECT_EQ(seen[0].status.error().kind, ErrorKind::closed);
  EXPECT_EQ(peer.connections(), 1U);
}

TEST_P(ClientTest, Trap16NorIsOneThatReplacedAClosedOne) {
  ScriptedPeer peer({Script().expect_head().send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").close(),
                     Script().expect_head().close()});
  const auto seen = send(peer, {{}, {}});
  EXPECT_EQ(seen[0].status.value_or(0), 200);
  ASSERT_FALSE(seen[1].status.has_value());
  EXPECT_EQ(seen[1].status.error().kind, ErrorKind::closed);
  EXPECT_EQ(peer.connections(), 2U);
}

TEST_P(ClientTest, Trap17CloseDelimitedBody) {
  ScriptedPeer peer({Script().expect_head().send("HTTP/1.0 200 OK\r\n\r\nthe whole body").close()});
  const auto seen = send(peer, {{}});
  EXPECT_EQ(seen[0].status.value_or(0), 200);
  EXPECT_EQ(seen[0].body, "the whole body");
}

TEST_P(ClientTest, Trap18TruncatedBodyIsShort) {
  ScriptedPeer peer(
      Script().expect_head().send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345").close());
  const auto seen = send(peer, {{}});
  ASSERT_FALSE(seen[0].status.has_value());
  EXPECT_EQ(seen[0].status.error().kind, ErrorKind::short_body);
}

TEST_P(ClientTest, Trap19HeadHasNoBody) {
  ScriptedPeer peer(Script().expect_head().send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").again());
  const auto seen = send(peer, {request_of(Method::head), request_of(Method::head)});
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(peer.connections(), 1U);
}

TEST_P(ClientTest, C44Trap20TrailersLeaveTheConnectionUsable) {
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nETag: x\r\n\r\n";
  for (std::size_t cut = 1; cut < chunked.size(); ++cut) {
    observed_ = {};
    ScriptedPeer peer(Script().expect_head().send_split(chunked, cut, 1ms).again());
    const auto seen = send(peer, {{}, {}});
    EXPECT_EQ(seen[0].body, "abc");
    EXPECT_EQ(seen[1].body, "abc") << cut;
    EXPECT_EQ(peer.connections(), 1U);
  }
}

TEST_P(ClientTest, Trap21InterimAnswersAreSkipped) {
  ScriptedPeer peer(Script().expect_head().send(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + std::string(kOk)));
  EXPECT_EQ(send(peer, {{}})[0].status.value_or(0), 200);
}

TEST_P(ClientTest, Trap22EarlyRefusalDuringAnUpload) {
  const ZeroBody body(64 << 20, false);
  ScriptedPeer peer(
      Script().expect_head().send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").stall());
  const auto seen = send(peer, {request_of(Method::put, &body)});
  EXPECT_EQ(seen[0].status.value_or(0), 413);
  EXPECT_TRUE(seen[0].early);
}

TEST_P(ClientTest, Trap22EarlyRefusalWithAReset) {
  const ZeroBody body(64 << 20, true);
  ScriptedPeer peer(Script()
                        .expect_head()
                        .send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
                        .pause(20ms)
                        .reset());
  const auto seen = send(peer, {request_of(Method::put, &body)});
  EXPECT_EQ(seen[0].status.value_or(0), 401);
  EXPECT_TRUE(seen[0].early);
}

TEST_P(ClientTest, Trap24AChunkedBodyIsFramedRight) {
  const ZeroBody body(150'000, true);
  // 150,000 bytes in three chunks, with 31 bytes around them.
  ScriptedPeer peer(Script().expect_head().expect_bytes(150'031).send(std::string(kOk)));
  EXPECT_EQ(send(peer, {request_of(Method::post, &body)})[0].status.value_or(0), 200);
  const std::string got = peer.received();
  EXPECT_NE(got.find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_NE(got.find("\r\n\r\n10000\r\n"), std::string::npos);
  EXPECT_TRUE(got.ends_with("\r\n0\r\n\r\n"));
}

TEST_P(ClientTest, Trap47LengthZeroEndsAtTheHead) {
  ScriptedPeer peer(Script().expect_head().send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").again());
  const http::TextBody empty("");
  const auto seen = send(peer, {request_of(Method::put, &empty), {}});
  EXPECT_EQ(seen[0].status.value_or(0), 201);
  EXPECT_EQ(seen[1].status.value_or(0), 201);
  EXPECT_NE(peer.received().find("Content-Length: 0\r\n"), std::string::npos);
}

TEST_P(ClientTest, UnaskedBytesAreNotTheNextAnswer) {
  ScriptedPeer peer({Script()
                         .expect_head()
                         .send(std::string(kOk) + "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
                         .silence(),
                     Script().expect_head().send(std::string(kOk))});
  const auto seen = send(peer, {{}, {}});
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(peer.connections(), 2U);
}

// The watchdog: whatever the byte after which a peer falls silent, the exchange ends in time.
TEST_P(ClientTest, WatchdogSilenceAtEveryByte) {
  const std::string whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
  for (std::size_t said = 0; said < whole.size(); said += 5) {
    ScriptedPeer peer(Script().expect_head().send(whole.substr(0, said)).silence());
    const Instant start = now();
    const auto seen = send(peer, {{}}, {.idle = 30ms});
    ASSERT_FALSE(seen[0].status.has_value()) << said;
    EXPECT_EQ(seen[0].status.error().kind, ErrorKind::timeout) << said;
    EXPECT_LT(now() - start, 3s) << said;
  }
}

TEST_P(ClientTest, WatchdogAPeerThatStopsReading) {
  const ZeroBody body(64 << 20, false);
  ScriptedPeer peer(Script().expect_head().stall());
  const auto seen = send(peer, {request_of(Method::put, &body)}, {.idle = 100ms});
  ASSERT_FALSE(seen[0].status.has_value());
  EXPECT_EQ(seen[0].status.error().kind, ErrorKind::timeout);
}

}  // namespace
}  // namespace plimsoll::http
