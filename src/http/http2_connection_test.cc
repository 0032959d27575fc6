// The client over HTTP/2 against a peer that plays exact frames, on each back end.
#include "http/http2_connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "http/client.h"
#include "net/connect.h"
#include "net/loop.h"
#include "net/scope.h"
#include "tests/support/http2_wire.h"
#include "tests/support/scripted_peer.h"

namespace plimsoll::http {
namespace {

using namespace std::chrono_literals;
namespace wire = test::http2;
using test::Script;
using test::ScriptedPeer;

class PeerConnector final : public Connector {
 public:
  PeerConnector(const ScriptedPeer& peer, int seats)
      : port_(peer.port()), pool_(Protocols::http2, false, seats) {}
  net::Task<Result<Opened>> open(net::Loop& loop, net::Patience patience) override {
    auto stream = co_await net::connect(loop, *net::Address::parse_ip("127.0.0.1", port_), {}, patience);
    if (!stream) co_return stream.error();
    co_return Opened{.stream = std::move(*stream)};
  }
  Http2Pool* http2() override { return &pool_; }

 private:
  std::uint16_t port_;
  Http2Pool pool_;
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

class ZeroBody final : public RequestBody {
 public:
  ZeroBody(std::uint64_t size, bool said) : size_(size), said_(said), piece_(64 * 1024, 'z') {}
  std::optional<std::uint64_t> length() const override {
    return said_ ? std::optional<std::uint64_t>(size_) : std::nullopt;
  }
  BodyPiece piece(std::uint64_t offset) const override {
    return {.bytes =
                std::string_view(piece_).substr(0, std::min<std::uint64_t>(piece_.size(), size_ - offset))};
  }

 private:
  std::uint64_t size_;
  bool said_;
  std::string piece_;
};

struct Seen {
  Result<int> status = Error{};
  std::string body;
  std::string field;  // "x"
  bool early = false;
  std::uint64_t body_sent = 0;
};

struct Exchanges {
  std::vector<Request> requests;
  net::Patience patience{.idle = 5s};
  int seats = 1;
  int clients = 1;  // each makes all the requests, side by side
};

Request request_of(Method method, const RequestBody* body = nullptr) {
  Request request;
  request.method = method;
  request.body = body;
  request.authority = "registry.test";
  return request;
}

net::Task<void> make_all(net::Loop& loop, Connector& to, Observed& observer, const Exchanges& exchanges,
                         std::vector<Seen>& into) {
  Client client(loop, to, {.connect_patience = {.idle = 5s}}, &observer);
  for (const Request& request : exchanges.requests) {
    Collected body;
    const auto answer = co_await client.exchange(request, &body, exchanges.patience);
    Seen seen;
    seen.status = answer ? Result<int>(answer->status()) : Result<int>(answer.error());
    seen.body = body.text;
    if (answer) {
      seen.field = answer->head->headers.find("x").value_or("");
      seen.early = answer->early;
      seen.body_sent = answer->body_sent;
      EXPECT_EQ(answer->body_received, body.text.size());
      EXPECT_LE(answer->sent_first, answer->first_byte);
      EXPECT_LE(answer->first_byte, answer->last_byte);
      EXPECT_GT(answer->wire_sent, 9U);
      EXPECT_GT(answer->wire_received, 9U + body.text.size());
      EXPECT_EQ(answer->head->major_version, 2);
      EXPECT_EQ(client.protocol(), "HTTP/2");
    }
    into.push_back(std::move(seen));
  }
}

net::Task<void> side_by_side(net::Loop& loop, Connector& to, Observed& observer, const Exchanges& exchanges,
                             std::vector<std::vector<Seen>>& into) {
  into.resize(static_cast<std::size_t>(exchanges.clients));
  net::TaskScope scope;
  for (auto& seen : into) scope.spawn(make_all(loop, to, observer, exchanges, seen));
  co_await scope.join();
}

class Http2ClientTest : public testing::TestWithParam<net::IoKind> {
 protected:
  void SetUp() override {
    auto loop = net::Loop::create(GetParam());
    if (!loop) GTEST_SKIP() << loop.error().message;
    loop_ = std::move(*loop);
  }
  std::vector<std::vector<Seen>> play(const ScriptedPeer& peer, const Exchanges& exchanges) {
    PeerConnector connector(peer, exchanges.seats);
    std::vector<std::vector<Seen>> seen;
    loop_->run(side_by_side(*loop_, connector, observed_, exchanges, seen));
    return seen;
  }
  std::vector<Seen> send(const ScriptedPeer& peer, std::vector<Request> requests,
                         net::Patience patience = {.idle = 5s}) {
    return play(peer, {.requests = std::move(requests), .patience = patience}).front();
  }
  // One GET of a peer that sends this once the request has come.
  Seen get(const std::string& bytes) {
    ScriptedPeer peer(Script().expect_frame(wire::kHeaders).send(wire::settings() + bytes).silence());
    return send(peer, {request_of(Method::get)}, {.idle = 2s}).front();
  }
  void expect_error(const std::string& bytes, ErrorKind kind, const char* what) {
    const Seen seen = get(bytes);
    ASSERT_FALSE(seen.status.has_value()) << what;
    EXPECT_EQ(name(seen.status.error().kind), name(kind)) << what << ": " << seen.status.error().text;
  }

  std::unique_ptr<net::Loop> loop_;
  Observed observed_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Http2ClientTest, testing::Values(net::IoKind::epoll, net::IoKind::uring),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST_P(Http2ClientTest, AnAnswerCutAnywhere) {
  const std::string whole =
      wire::settings() + wire::headers(1, {{":status", "103"}, {"link", "</x>"}}, false) +
      wire::headers(1, {{":status", "200"}, {"x", "y"}, {"content-length", "5"}}, false) +
      wire::data(1, "who", false) + wire::data(1, "le", false) +
      wire::headers(1, {{"x", "of a trailer"}}, true);
  for (std::size_t cut = 1; cut < whole.size(); cut += 9) {
    ScriptedPeer peer(Script().expect_frame(wire::kHeaders).send_split(whole, cut, 1ms).silence());
    const Seen seen = send(peer, {request_of(Method::get)}).front();
    ASSERT_TRUE(seen.status.has_value()) << cut << ": " << describe(seen.status.error());
    EXPECT_EQ(*seen.status, 200);
    EXPECT_EQ(seen.body, "whole");
    EXPECT_EQ(seen.field, "y");
  }
}

TEST_P(Http2ClientTest, TheGreetingOpensLargeWindows) {
  ScriptedPeer peer(
      Script().send(wire::settings()).expect_frame(wire::kHeaders).send(wire::answer(1)).silence());
  EXPECT_EQ(send(peer, {request_of(Method::get)}).front().status.value_or(0), 200);
  const std::string got = peer.received();
  ASSERT_TRUE(got.starts_with(wire::kPreface));
  const auto frames = wire::frames(got, true);
  ASSERT_GE(frames.size(), 3U);
  ASSERT_EQ(frames[0].type, wire::kSettings);
  const auto entry = frames[0].payload.find(wire::number(wire::kInitialWindow, 2));
  ASSERT_NE(entry, std::string::npos);
  EXPECT_GE(frames[0].payload.substr(entry + 2, 4), wire::number(16 << 20));
  EXPECT_EQ(frames[1].type, wire::kWindow);
  EXPECT_GE(frames[1].payload, wire::number((16 << 20) - 65535));
}

TEST_P(Http2ClientTest, ManyRequestsOnOneConnection) {
  ScriptedPeer peer(Script()
                        .expect_frame(wire::kHeaders)
                        .send(wire::settings() + wire::answer(1, "one"))
                        .expect_frame(wire::kHeaders)
                        .send(wire::answer(3, "two"))
                        .expect_frame(wire::kHeaders)
                        .send(wire::answer(5, ""))
                        .silence());
  const auto seen = send(peer, std::vector(3, request_of(Method::get)));
  EXPECT_EQ(seen[0].body, "one");
  EXPECT_EQ(seen[1].body, "two");
  EXPECT_EQ(seen[2].status.value_or(0), 200);
  EXPECT_EQ(observed_.opened_count, 1);
  EXPECT_EQ(observed_.reused_count, 2);
}

std::string_view first_body(const std::vector<Seen>& seen) {
  return seen.front().body;
}

TEST_P(Http2ClientTest, ClientsShareAConnectionUpToItsSeats) {
  const Script script = Script()
                            .expect_frame(wire::kHeaders)
                            .expect_frame(wire::kHeaders)
                            .send(wire::settings() + wire::answer(3, "b") + wire::answer(1, "a"))
                            .silence();
  ScriptedPeer peer({script, script});
  const auto seen = play(peer, {.requests = {request_of(Method::get)}, .seats = 2, .clients = 4});
  for (const auto& one : seen) EXPECT_EQ(one.front().status.value_or(0), 200);
  EXPECT_EQ(std::ranges::count(seen, std::string_view("a"), first_body), 2);
  EXPECT_EQ(observed_.opened_count, 2);
  EXPECT_EQ(peer.connections(), 2U);
}

TEST_P(Http2ClientTest, ARefusedStreamIsSentAgain) {
  ScriptedPeer peer(
      {Script()
           .expect_frame(wire::kHeaders)
           .send(wire::settings() + wire::reset(1, wire::kRefusedStream))
           .silence(),
       Script().expect_frame(wire::kHeaders).send(wire::settings() + wire::answer(1)).silence()});
  const ZeroBody body(10, true);
  const auto seen = send(peer, {request_of(Method::post, &body)});
  EXPECT_EQ(seen[0].status.value_or(0), 200) << "a body is no reason not to: the peer did nothing";
  EXPECT_EQ(seen[0].body_sent, 10U);
  EXPECT_EQ(peer.connections(), 2U);
  EXPECT_EQ(observed_.reconnected, 1);
}

TEST_P(Http2ClientTest, RefusedForEverIsAnError) {
  ScriptedPeer peer(Script()
                        .expect_frame(wire::kHeaders)
                        .send(wire::settings() + wire::reset(1, wire::kRefusedStream))
                        .silence());
  const auto seen = send(peer, {request_of(Method::get)});
  ASSERT_FALSE(seen[0].status.has_value());
  EXPECT_EQ(seen[0].status.error().kind, ErrorKind::reset);
  EXPECT_EQ(peer.connections(), 1U + Client::kMostResent);
}

TEST_P(Http2ClientTest, WhatAGoawayLeavesOutIsSentAgain) {
  ScriptedPeer peer(
      {Script()
           .expect_frame(wire::kHeaders)
           .expect_frame(wire::kHeaders)
           .pause(20ms)
           .send(wire::settings() + wire::goaway(1, wire::kNoError) + wire::answer(1, "first"))
           .silence(),
       Script().expect_frame(wire::kHeaders).send(wire::settings() + wire::answer(1, "second")).silence()});
  const auto seen = play(peer, {.requests = {request_of(Method::get)}, .seats = 2, .clients = 2});
  EXPECT_EQ(std::ranges::count(seen, std::string_view("first"), first_body), 1) << "it was under way";
  EXPECT_EQ(std::ranges::count(seen, std::string_view("second"), first_body), 1);
  EXPECT_EQ(observed_.opened_count, 2);
  EXPECT_EQ(observed_.reconnected, 1);
}

TEST_P(Http2ClientTest, AfterAGoawayTheNextRequestOpensAConnection) {
  ScriptedPeer peer(
      {Script()
           .expect_frame(wire::kHeaders)
           .send(wire::settings() + wire::goaway(0x7fffffff, wire::kNoError) + wire::answer(1, "a"))
           .silence(),
       Script().expect_frame(wire::kHeaders).send(wire::settings() + wire::answer(1, "b")).silence()});
  const auto seen = send(peer, std::vector(2, request_of(Method::get)));
  EXPECT_EQ(seen[0].body, "a");
  EXPECT_EQ(seen[1].body, "b");
  EXPECT_EQ(observed_.reconnected, 1);
}

TEST_P(Http2ClientTest, AResetStreamIsAnErrorOfItsOwn) {
  ScriptedPeer peer(Script()
                        .expect_frame(wire::kHeaders)
                        .send(wire::settings() + wire::reset(1, wire::kInternalError))
                        .expect_frame(wire::kHeaders)
                        .send(wire::answer(3))
                        .silence());
  const auto seen = send(peer, std::vector(2, request_of(Method::get)));
  ASSERT_FALSE(seen[0].status.has_value());
  EXPECT_EQ(seen[0].status.error().kind, ErrorKind::reset);
  EXPECT_STREQ(seen[0].status.error().text, "INTERNAL_ERROR");
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(peer.connections(), 1U);
}

TEST_P(Http2ClientTest, AResetWithinTheBodyIsAnError) {
  expect_error(wire::headers(1, {{":status", "200"}}, false) + wire::data(1, "ab", false) +
                   wire::reset(1, wire::kCancel),
               ErrorKind::reset, "reset within the body");
}

TEST_P(Http2ClientTest, AConnectionThatEnds) {
  const auto lost = [this](const std::string& bytes) {
    ScriptedPeer peer(Script().expect_frame(wire::kHeaders).send(wire::settings() + bytes).close());
    return send(peer, {request_of(Method::get)}).front().status.error().kind;
  };
  EXPECT_EQ(lost(""), ErrorKind::closed);
  EXPECT_EQ(lost(wire::headers(1, {{":status", "200"}}, false).substr(0, 12)), ErrorKind::closed);
  EXPECT_EQ(lost(wire::headers(1, {{":status", "200"}}, false) + wire::data(1, "ab", false)),
            ErrorKind::short_body);
}

TEST_P(Http2ClientTest, AnIdleCloseIsReplaced) {
  ScriptedPeer peer(
      {Script().expect_frame(wire::kHeaders).send(wire::settings() + wire::answer(1)).close(),
       Script().expect_frame(wire::kHeaders).send(wire::settings() + wire::answer(1)).silence()});
  const auto seen = send(peer, std::vector(2, request_of(Method::get)));
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(observed_.reconnected, 1);
}

TEST_P(Http2ClientTest, BodiesOfAnotherLengthThanSaid) {
  expect_error(
      wire::headers(1, {{":status", "200"}, {"content-length", "5"}}, false) + wire::data(1, "ab", true),
      ErrorKind::short_body, "too short");
  expect_error(
      wire::headers(1, {{":status", "200"}, {"content-length", "1"}}, false) + wire::data(1, "abc", true),
      ErrorKind::protocol, "too long");
}

TEST_P(Http2ClientTest, HostilePeers) {
  expect_error(wire::headers(1, {{"x", "y"}}, true), ErrorKind::protocol, "no status");
  expect_error(wire::headers(1, {{":status", "200"}, {"Upper", "y"}}, true), ErrorKind::protocol,
               "upper case");
  expect_error(wire::headers(1, {{":status", "200"}, {"connection", "close"}}, true), ErrorKind::protocol,
               "a field of HTTP/1");
  expect_error(wire::data(0, "x", false), ErrorKind::protocol, "DATA on stream 0");
  expect_error(wire::answer(5), ErrorKind::protocol, "an answer to nothing");
  expect_error(
      wire::frame(wire::kSettings, wire::kAck, 0) +
          wire::frame(wire::kPush, wire::kEndHeaders, 1, wire::number(2) + wire::block({{":method", "GET"}})),
      ErrorKind::protocol, "a push");
  expect_error(wire::frame(wire::kHeaders, wire::kEndHeaders, 1, "\xff\xff\xff\xff\xff\xff"),
               ErrorKind::protocol, "a broken block");
  expect_error(std::string(64, '\xff'), ErrorKind::protocol, "no frame");
  expect_error(wire::window(0, 0x7fffffff), ErrorKind::protocol, "a window too far");
  expect_error(wire::goaway(0, wire::kInternalError) + wire::settings(), ErrorKind::reset,
               "told to go away from every connection");
}

TEST_P(Http2ClientTest, HeadsThatAreTooLarge) {
  wire::Fields fields{{":status", "200"}};
  for (int i = 0; i < 300; ++i) fields.emplace_back("x", "y");
  expect_error(wire::headers(1, fields, true), ErrorKind::protocol, "too many fields");
  fields.resize(1);
  for (int i = 0; i < 200; ++i) fields.emplace_back("x", std::string(120, 'y'));
  std::string large = wire::block(fields);
  const std::string half = large.substr(0, 16'000);
  std::string endless = wire::frame(wire::kHeaders, 0, 1, half);
  for (int i = 0; i < 40; ++i) endless += wire::frame(wire::kContinuation, 0, 1, half);
  expect_error(endless, ErrorKind::protocol, "an endless head");
}

TEST_P(Http2ClientTest, FloodsThatMoveNothing) {
  std::string flood;
  for (int i = 0; i < 11'000; ++i) flood += wire::settings();
  expect_error(flood, ErrorKind::protocol, "SETTINGS");
  flood.clear();
  for (int i = 0; i < 11'000; ++i) flood += wire::frame(wire::kPing, 0, 0, "12345678");
  expect_error(flood, ErrorKind::protocol, "PING");
  flood = wire::headers(1, {{":status", "200"}}, false);
  for (int i = 0; i < 11'000; ++i) flood += wire::data(1, "", false);
  expect_error(flood, ErrorKind::protocol, "empty DATA");
}

TEST_P(Http2ClientTest, APeerThatSpeaksHttp1) {
  ScriptedPeer peer(
      Script().expect_bytes(24).send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").close());
  const Seen seen = send(peer, {request_of(Method::get)}).front();
  ASSERT_FALSE(seen.status.has_value());
  EXPECT_EQ(seen.status.error().kind, ErrorKind::protocol);
  EXPECT_NE(std::string_view(seen.status.error().text).find("HTTP/1"), std::string_view::npos);
}

TEST_P(Http2ClientTest, AStarvedUploadGoesOnAsTheWindowOpens) {
  constexpr std::size_t kAtOnce = 65'535;
  const ZeroBody body(kAtOnce + 1000, true);
  Script script;
  script.expect_frame(wire::kHeaders);
  for (int i = 0; i < 4; ++i) script.expect_frame(wire::kData);
  script.send(wire::settings() + wire::window(0, 1000));
  for (int i = 0; i < 10; ++i) script.send(wire::window(1, 100)).expect_frame(wire::kData);
  script.send(wire::answer(1, "", "201")).silence();
  ScriptedPeer peer(script);
  const Seen seen = send(peer, {request_of(Method::put, &body)}).front();
  EXPECT_EQ(seen.status.value_or(0), 201);
  EXPECT_EQ(seen.body_sent, kAtOnce + 1000);
  EXPECT_FALSE(seen.early);
  std::size_t received = 0;
  for (const auto& frame : wire::frames(peer.received(), true)) {
    if (frame.type == wire::kData) received += frame.payload.size();
  }
  EXPECT_EQ(received, kAtOnce + 1000);
}

TEST_P(Http2ClientTest, ABodyWithoutALength) {
  const ZeroBody body(70'000, false);
  ScriptedPeer peer(Script()
                        .send(wire::settings({{wire::kInitialWindow, 1 << 20}}) + wire::window(0, 1 << 20))
                        .expect_bytes(70'100)
                        .pause(5ms)
                        .send(wire::answer(1, "", "201"))
                        .silence());
  const Seen seen = send(peer, {request_of(Method::put, &body)}).front();
  EXPECT_EQ(seen.status.value_or(0), 201);
  EXPECT_EQ(seen.body_sent, 70'000U);
}

TEST_P(Http2ClientTest, AWindowThatNeverOpensIsATimeout) {
  const ZeroBody body(100'000, true);
  ScriptedPeer peer(Script().send(wire::settings({{wire::kInitialWindow, 0}})).silence());
  const Seen seen = send(peer, {request_of(Method::put, &body)}, {.idle = 100ms}).front();
  ASSERT_FALSE(seen.status.has_value());
  EXPECT_EQ(seen.status.error().kind, ErrorKind::timeout);
}

TEST_P(Http2ClientTest, AnEarlyRefusalLeavesTheConnectionInUse) {
  const ZeroBody body(64 << 20, true);
  ScriptedPeer peer(Script()
                        .send(wire::settings())
                        .expect_frame(wire::kHeaders)
                        .expect_frame(wire::kData)
                        .expect_frame(wire::kData)
                        .send(wire::answer(1, "no", "413"))
                        .expect_frame(wire::kReset)
                        .expect_frame(wire::kHeaders)
                        .send(wire::answer(3, "yes"))
                        .silence());
  const auto seen = send(peer, {request_of(Method::put, &body), request_of(Method::get)});
  EXPECT_EQ(seen[0].status.value_or(0), 413);
  EXPECT_TRUE(seen[0].early);
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(peer.connections(), 1U);
}

TEST_P(Http2ClientTest, WatchdogSilenceAtEveryByte) {
  const std::string whole =
      wire::settings() + wire::headers(1, {{":status", "200"}}, false) + wire::data(1, "ok", true);
  for (std::size_t said = 0; said < whole.size(); said += 7) {
    ScriptedPeer peer(Script().expect_frame(wire::kHeaders).send(whole.substr(0, said)).silence());
    const Seen seen = send(peer, {request_of(Method::get)}, {.idle = 30ms}).front();
    ASSERT_FALSE(seen.status.has_value()) << said;
    EXPECT_EQ(seen.status.error().kind, ErrorKind::timeout) << said;
  }
}

TEST_P(Http2ClientTest, ASilentStreamLeavesTheConnectionInUse) {
  ScriptedPeer peer(Script()
                        .expect_frame(wire::kHeaders)
                        .send(wire::settings() + wire::headers(1, {{":status", "200"}}, false))
                        .expect_frame(wire::kReset)
                        .expect_frame(wire::kHeaders)
                        .send(wire::answer(3))
                        .silence());
  const auto seen = send(peer, std::vector(2, request_of(Method::get)), {.idle = 300ms});
  EXPECT_EQ(seen[0].status.error().kind, ErrorKind::timeout);
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(peer.connections(), 1U);
}

TEST_P(Http2ClientTest, ADeadPeerIsLeft) {
  ScriptedPeer peer(
      {Script().expect_frame(wire::kHeaders).silence(),
       Script().expect_frame(wire::kHeaders).send(wire::settings() + wire::answer(1)).silence()});
  const auto seen = send(peer, std::vector(2, request_of(Method::get)), {.idle = 200ms});
  EXPECT_EQ(seen[0].status.error().kind, ErrorKind::timeout);
  EXPECT_EQ(seen[1].status.value_or(0), 200);
  EXPECT_EQ(peer.connections(), 2U);
}

TEST_P(Http2ClientTest, FieldsOfAConnectionAreLeftOut) {
  const std::vector<HeaderView> fields{
      {"Connection", "close"}, {"X-Mine", "1"}, {"Transfer-Encoding", "chunked"}};
  Request request = request_of(Method::get);
  request.headers = fields;
  ScriptedPeer peer(Script().expect_frame(wire::kHeaders).send(wire::settings() + wire::answer(1)).silence());
  EXPECT_EQ(send(peer, {request}).front().status.value_or(0), 200);
}

}  // namespace
}  // namespace plimsoll::http
