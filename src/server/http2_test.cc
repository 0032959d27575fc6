// The server over HTTP/2, against clients that send exact frames.
#include <gtest/gtest.h>

#include <thread>

#include "server/service.h"
#include "server/test_client.h"
#include "tests/support/http2_wire.h"

namespace plimsoll::server {
namespace {

using namespace std::chrono_literals;
namespace wire = test::http2;

std::unique_ptr<Service> start(http::ServerLimits limits = {}, std::vector<std::string> faults = {}) {
  ServiceOptions options;
  options.server.listen = {*net::parse_listen("0")};
  options.server.io = net::IoKind::epoll;
  options.server.limits = limits;
  options.memory_limit = 64 << 20;
  options.faults = std::move(faults);
  auto service = Service::start(options);
  EXPECT_TRUE(service.has_value()) << service.error().message;
  return std::move(*service);
}

const std::string kGreeting = std::string(wire::kPreface) + wire::settings();
const std::string kLeave = wire::goaway(0, wire::kNoError);

std::string request(std::uint32_t stream, const std::string& method = "GET", const std::string& path = "/v2/",
                    bool last = true, wire::Fields more = {}) {
  wire::Fields fields{{":method", method}, {":scheme", "http"}, {":authority", "a"}, {":path", path}};
  fields.insert(fields.end(), more.begin(), more.end());
  return wire::headers(stream, fields, last);
}

std::vector<wire::Frame> talk(Service& service, const std::string& bytes, bool half_close = false) {
  return wire::frames(converse(service.server().addresses().front(), bytes, half_close), false);
}

std::size_t count(const std::vector<wire::Frame>& frames, std::uint8_t type,
                  std::uint32_t code = UINT32_MAX) {
  return static_cast<std::size_t>(std::ranges::count_if(frames, [&](const wire::Frame& frame) {
    const auto at = type == wire::kGoaway ? 4U : 0U;
    return frame.type == type && (code == UINT32_MAX || frame.payload.substr(at, 4) == wire::number(code));
  }));
}

// The status of a head, where it is one of RFC 7541's static table or a literal.
int status_of(const std::vector<wire::Frame>& frames, std::uint32_t stream) {
  for (const wire::Frame& frame : frames) {
    if (frame.type != wire::kHeaders || frame.stream != stream || frame.payload.empty()) continue;
    constexpr std::array kStatic{200, 204, 206, 304, 400, 404, 500};
    const auto first = static_cast<unsigned char>(frame.payload[0]);
    if (first >= 0x88 && first <= 0x8e) return kStatic[first - 0x88U];
    // A literal whose name is indexed; three digits take two bytes in Huffman code: told apart by those.
    return -1;
  }
  return 0;
}

std::string body_of(const std::vector<wire::Frame>& frames, std::uint32_t stream) {
  std::string body;
  for (const wire::Frame& frame : frames) {
    if (frame.type == wire::kData && frame.stream == stream) body += frame.payload;
  }
  return body;
}

TEST(Http2ServerTest, AnswersByPriorKnowledge) {
  const auto service = start();
  const auto frames = talk(*service, kGreeting + request(1) + request(3, "GET", "/v2/none/tags/list") +
                                         request(5, "HEAD") + kLeave);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.front().type, wire::kSettings);
  EXPECT_EQ(status_of(frames, 1), 200);
  EXPECT_EQ(body_of(frames, 1), "{}");
  EXPECT_EQ(status_of(frames, 3), 404);
  EXPECT_NE(body_of(frames, 3).find("NAME_UNKNOWN"), std::string::npos);
  EXPECT_EQ(status_of(frames, 5), 200);
  EXPECT_EQ(body_of(frames, 5), "");
}

TEST(Http2ServerTest, APrefaceCutAnywhere) {
  const auto service = start();
  const std::string bytes = kGreeting + request(1) + kLeave;
  for (std::size_t cut = 1; cut < bytes.size(); cut += 5) {
    const net::Address address = service->server().addresses().front();
    const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(fd, address.data(), address.size()), 0);
    ASSERT_GT(send(fd, bytes.data(), cut, MSG_NOSIGNAL), 0);
    std::this_thread::sleep_for(1ms);
    ASSERT_GT(send(fd, bytes.data() + cut, bytes.size() - cut, MSG_NOSIGNAL), 0);
    std::string got;
    std::string piece(4096, '\0');
    for (ssize_t size = 1; size > 0;) {
      size = recv(fd, piece.data(), piece.size(), 0);
      if (size > 0) got.append(piece, 0, static_cast<std::size_t>(size));
    }
    close(fd);
    EXPECT_EQ(body_of(wire::frames(got, false), 1), "{}") << cut;
  }
}

TEST(Http2ServerTest, SpokenOnlyWhereItIsOn) {
  const auto service = start({.http2 = false});
  const std::string answer = converse(service->server().addresses().front(), kGreeting + request(1));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 505 ")) << answer;
}

TEST(Http2ServerTest, RapidResetIsStopped) {
  const auto service = start();
  std::string bytes = kGreeting;
  for (std::uint32_t i = 0; i < 3000; ++i)
    bytes += request(2 * i + 1) + wire::reset(2 * i + 1, wire::kCancel);
  const auto frames = talk(*service, bytes);
  EXPECT_EQ(count(frames, wire::kGoaway, wire::kCalm), 1U);
  EXPECT_EQ(body_of(talk(*service, kGreeting + request(1) + kLeave), 1), "{}") << "others are served on";
}

TEST(Http2ServerTest, StreamsBeyondTheLimitAreRefused) {
  const auto service = start({}, {"latency=200ms"});
  std::string bytes = kGreeting;
  for (std::uint32_t i = 0; i < 140; ++i) bytes += request(2 * i + 1);
  const auto frames = talk(*service, bytes + kLeave);
  EXPECT_EQ(count(frames, wire::kReset, wire::kRefusedStream), 12U);
  EXPECT_EQ(body_of(frames, 255), "{}") << "the last that fits";
  EXPECT_EQ(body_of(frames, 257), "");
}

TEST(Http2ServerTest, HeadsThatAreTooLarge) {
  const auto service = start();
  wire::Fields many;
  for (int i = 0; i < 260; ++i) many.emplace_back("x", "y");
  const auto frames = talk(*service, kGreeting + request(1, "GET", "/v2/", true, many) + request(3) + kLeave);
  EXPECT_EQ(status_of(frames, 1), -1) << "431, which is no status of the static table";
  EXPECT_EQ(body_of(frames, 3), "{}");
  std::string endless = kGreeting + wire::frame(wire::kHeaders, 0, 1, std::string(16'000, '\0'));
  for (int i = 0; i < 40; ++i) endless += wire::frame(wire::kContinuation, 0, 1, std::string(16'000, '\0'));
  EXPECT_EQ(status_of(talk(*service, endless), 1), 0);
}

TEST(Http2ServerTest, BrokenFramesEndTheConnection) {
  const auto service = start();
  for (const std::string& bytes :
       {std::string(64, '\xff'), wire::data(0, "x", false), wire::data(1, "x", true), wire::window(0, 0),
        wire::frame(wire::kHeaders, wire::kEndHeaders, 2, "\x88"),
        wire::frame(wire::kHeaders, wire::kEndHeaders, 1, "\xff\xff\xff\xff\xff\xff")}) {
    const auto frames = talk(*service, kGreeting + bytes);
    EXPECT_EQ(count(frames, wire::kGoaway), 1U);
    EXPECT_EQ(count(frames, wire::kGoaway, wire::kNoError), 0U);
  }
  std::string flood = kGreeting;
  for (int i = 0; i < 11'000; ++i) flood += wire::settings();
  EXPECT_EQ(status_of(talk(*service, flood + request(1)), 1), 0);
}

TEST(Http2ServerTest, ABodyOfAnotherLengthThanSaid) {
  const auto service = start();
  const auto frames = talk(*service, kGreeting +
                                         request(1, "POST", "/v2/a/blobs/uploads/?digest=sha256:0", false,
                                                 {{"content-length", "9"}}) +
                                         wire::data(1, "short", true) + request(3) + kLeave);
  EXPECT_EQ(count(frames, wire::kReset), 1U);
  EXPECT_EQ(body_of(frames, 3), "{}");
}

TEST(Http2ServerTest, IdleConnectionsEnd) {
  const auto service = start({.idle = 50ms, .head = 50ms});
  EXPECT_EQ(count(talk(*service, kGreeting + request(1)), wire::kGoaway, wire::kNoError), 1U);
  // A head that does not go on.
  const auto frames = talk(*service, kGreeting + wire::frame(wire::kHeaders, 0, 1, "\x82"));
  EXPECT_EQ(status_of(frames, 1), 0);
}

TEST(Http2ServerTest, AStarvedAnswerWaitsForTheWindow) {
  const auto service = start();
  const std::string closed = std::string(wire::kPreface) + wire::settings({{wire::kInitialWindow, 1}});
  EXPECT_EQ(body_of(talk(*service, closed + request(1) + wire::window(1, 1) + kLeave), 1), "{}");
  const auto starved = talk(*service, closed + request(1) + request(3, "HEAD") + kLeave, true);
  EXPECT_EQ(body_of(starved, 1), "{");
  EXPECT_EQ(status_of(starved, 3), 200) << "others are answered meanwhile";
}

TEST(Http2ServerTest, FaultsOfDelivery) {
  const std::string bytes = kGreeting + request(1) + kLeave;
  const auto cut = talk(*start({}, {"truncate=1"}), bytes);
  EXPECT_EQ(body_of(cut, 1), "{");
  EXPECT_EQ(count(cut, wire::kReset, wire::kInternalError), 1U);
  const auto reset = talk(*start({}, {"reset"}), bytes);
  EXPECT_EQ(body_of(reset, 1), "");
  EXPECT_EQ(count(reset, wire::kReset), 1U);
  const auto trailers = talk(*start({}, {"chunked=1; trailer=X-A: b"}), bytes);
  EXPECT_EQ(body_of(trailers, 1), "{}");
  EXPECT_EQ(count(trailers, wire::kHeaders), 2U);
  EXPECT_EQ(body_of(talk(*start({}, {"rate=20"}), bytes), 1), "{}");
  EXPECT_EQ(count(talk(*start({}, {"close_after=1"}), kGreeting + request(1)), wire::kGoaway), 1U);
}

TEST(Http2ServerTest, DrainingEndsIdleConnections) {
  const auto service = start();
  const auto address = service->server().addresses().front();
  std::string got;
  std::jthread client([&] { got = converse(address, kGreeting + request(1), false); });
  std::this_thread::sleep_for(50ms);
  service->drain(2s);
  client.join();
  const auto frames = wire::frames(got, false);
  EXPECT_EQ(body_of(frames, 1), "{}");
  EXPECT_EQ(count(frames, wire::kGoaway, wire::kNoError), 1U);
}

}  // namespace
}  // namespace plimsoll::server
