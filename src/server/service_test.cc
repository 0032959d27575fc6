// The whole server over TCP: connections, framing, malformed bytes, faults on the wire, the end.
#include "server/service.h"

#include <gtest/gtest.h>

#include <thread>

#include "server/test_client.h"

namespace plimsoll::server {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Service> start(std::vector<std::string> faults = {}, unsigned threads = 1,
                               http::ServerLimits limits = {}) {
  ServiceOptions options;
  options.server.listen = {*net::parse_listen("0")};
  options.server.threads = threads;
  options.server.io = net::IoKind::epoll;
  options.server.limits = limits;
  options.memory_limit = 64 << 20;
  options.faults = std::move(faults);
  auto service = Service::start(options);
  EXPECT_TRUE(service.has_value()) << service.error().message;
  return std::move(*service);
}

std::string talk(Service& service, std::string_view bytes) {
  return converse(service.server().addresses().front(), bytes);
}

int status_of(std::string_view answer) {
  return answer.size() < 12 ? 0 : static_cast<int>(parse_u64(answer.substr(9, 3)).value_or(0));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ServiceTest, MalformedRequestsEndInA4xxAndAClose) {
  const auto service = start();
  struct Case {
    const char* name;
    std::string bytes;
    int status;
  };
  const std::string good = "GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::vector<Case> cases{
      {"length and coding",
       "POST /v2/a/blobs/uploads/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n",
       400},
      {"two lengths",
       "POST /v2/a/blobs/uploads/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n",
       400},
      {"length is a list", "POST /v2/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n", 400},
      {"negative length", "POST /v2/ HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
      {"folded field", "GET /v2/ HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400},
      {"bare CR", "GET /v2/ HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400},
      {"bare LF", "GET /v2/ HTTP/1.1\nHost: a\n\n", 400},
      {"NUL", std::string("GET /v2/\0 HTTP/1.1\r\nHost: a\r\n\r\n", 31), 400},
      {"no host", "GET /v2/ HTTP/1.1\r\n\r\n", 400},
      {"space before colon", "GET /v2/ HTTP/1.1\r\nHost : a\r\n\r\n", 400},
      {"no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"asterisk of GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"long target", "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
      {"large head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(80'000, 'a') + "\r\n\r\n", 431},
      {"unknown coding", "POST /v2/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"unknown version", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505},
      {"not HTTP", "hello\r\n\r\n", 400},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), 0},
  };
  for (const auto& [name, bytes, status] : cases) {
    // What stands behind a malformed request is never looked at.
    const std::string answer = talk(*service, bytes + good);
    EXPECT_EQ(status_of(answer), status) << name << "\n" << answer.substr(0, 300);
    EXPECT_LE(count(answer, "Date: "), 1U) << name;
  }
  EXPECT_EQ(status_of(talk(*service, good)), 200);
}

TEST(ServiceTest, BadChunksEndTheRequestAndTheConnection) {
  const auto service = start();
  const std::string head = "POST /v2/a/blobs/uploads/?digest=" + oci::Digest::of("abc").text() +
                           " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string chunks :
       {"xyz\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n",
        "10000000000000003\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\nX\rY: z\r\n\r\n"}) {
    const std::string answer = talk(*service, head + chunks + "GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(status_of(answer), 400) << chunks << "\n" << answer;
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1U) << chunks << "\n" << answer;
  }
}

TEST(ServiceTest, TargetsInOtherForms) {
  const auto service = start();
  struct Case {
    const char* line;
    int status;
  };
  for (const auto& [line, status] :
       {Case{"GET http://a/v2/", 200}, Case{"GET http://b/v2/", 200}, Case{"OPTIONS *", 204},
        Case{"CONNECT a:1", 501}, Case{"GET a:1", 400}, Case{"GET ftp://a/v2/", 400}, Case{"GET v2/", 400},
        Case{"CONNECT /v2/", 501}}) {
    const std::string answer = talk(*service, std::string(line) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(status_of(answer), status) << line << "\n" << answer;
  }
}

TEST(ServiceTest, AnswersPipelinedRequestsInOrder) {
  const auto service = start();
  std::string bytes;
  for (const char* path : {"/v2/", "/absent", "/v2/a/tags/list"})
    bytes += std::string("GET ") + path + " HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string answer = talk(*service, bytes);
  EXPECT_EQ(count(answer, "HTTP/1.1 "), 3U);
  EXPECT_LT(answer.find(" 200 OK"), answer.find("the registry is below"));
  EXPECT_LT(answer.find("the registry is below"), answer.find("NAME_UNKNOWN"));
}

TEST(ServiceTest, BodiesInChunksOneByteAtATime) {
  const auto service = start();
  const std::string answer =
      talk(*service, "POST /v2/a/blobs/uploads/?digest=" + oci::Digest::of("abc").text() +
                         " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                         "chunked\r\n\r\n1\r\na\r\n1;x=y\r\nb\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n"
                         "GET /v2/a/blobs/" +
                         oci::Digest::of("abc").text() + " HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(answer), 201);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nabc")) << answer;
}

TEST(ServiceTest, LargeBodiesArriveWhole) {
  const auto service = start();
  std::string content(5'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761U >> 13);
  const std::string digest = oci::Digest::of(content).text();
  const std::string head =
      "POST /v2/a/blobs/uploads/?digest=" + digest + " HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n";
  const std::string get = "GET /v2/a/blobs/" + digest + " HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string answer = talk(*service, head + "\r\n" + content + get);
  EXPECT_EQ(status_of(answer), 201);
  EXPECT_TRUE(answer.ends_with(content));
  // One that ends early, and one of other content.
  EXPECT_EQ(status_of(talk(*service, head + "\r\n" + content.substr(1000))), 400);
  content.back() ^= 1;
  const std::string other = talk(*service, head + "Connection: close\r\n\r\n" + content);
  EXPECT_EQ(status_of(other), 400);
  EXPECT_TRUE(other.contains("DIGEST_INVALID")) << other.substr(0, 300);
}

TEST(ServiceTest, HeadHasTheLengthAndNoBody) {
  const auto service = start();
  const std::string answer =
      talk(*service,
           "HEAD /v2/ HTTP/1.1\r\nHost: a\r\n\r\nGET /v2/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(count(answer, "Content-Length: 2\r\n"), 2U);
  EXPECT_EQ(count(answer, "{}"), 1U);
  EXPECT_TRUE(answer.contains("Connection: close\r\n"));
}

TEST(ServiceTest, Http10StaysWhereItIsAskedTo) {
  const auto service = start();
  const std::string once = talk(*service, "GET /v2/ HTTP/1.0\r\n\r\nGET /v2/ HTTP/1.0\r\n\r\n");
  EXPECT_EQ(count(once, " 200 OK"), 1U);
  const std::string kept =
      talk(*service, "GET /v2/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /v2/ HTTP/1.0\r\n\r\n");
  EXPECT_EQ(count(kept, " 200 OK"), 2U);
  EXPECT_EQ(count(kept, "Connection: keep-alive\r\n"), 1U);
}

TEST(ServiceTest, Says100ContinueOnlyWhereTheBodyIsWanted) {
  const auto service = start();
  const std::string wanted =
      talk(*service, "POST /v2/a/blobs/uploads/?digest=" + oci::Digest::of("abc").text() +
                         " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
  // The body came with the head: it need not be asked for.
  EXPECT_EQ(count(wanted, " 201 Created"), 1U);
  const std::string unwanted = talk(*service,
                                    "POST /v2/a/blobs/uploads/?digest=nonsense HTTP/1.1\r\nHost: a\r\n"
                                    "Expect: 100-continue\r\nContent-Length: 300000\r\n\r\n");
  EXPECT_EQ(status_of(unwanted), 400);
  EXPECT_FALSE(unwanted.contains("100 Continue"));
}

TEST(ServiceTest, AnEarlyAnswerToALargeBodyArrives) {
  const auto service = start();
  const std::string head =
      "POST /v2/a/blobs/uploads/?digest=nonsense HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n";
  const std::string answer = talk(*service, head + std::string(8'000'000, 'x'));
  EXPECT_EQ(status_of(answer), 400);
  EXPECT_TRUE(answer.contains("Connection: close\r\n"));
}

TEST(ServiceTest, BodiesAboveTheLimitAre413) {
  const auto service = start({}, 1, {.max_body = 1000});
  const std::string target =
      "POST /v2/a/blobs/uploads/?digest=" + oci::Digest::of("abc").text() + " HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status_of(talk(*service, target + "Content-Length: 1001\r\n\r\n")), 413);
  EXPECT_EQ(status_of(talk(*service, target + "Transfer-Encoding: chunked\r\n\r\n400\r\n" +
                                         std::string(1024, 'x') + "\r\n0\r\n\r\n")),
            413);
}

TEST(ServiceTest, SlowHeadsAndIdleConnectionsEnd) {
  const auto service = start({}, 1, {.idle = 50ms, .head = 50ms});
  const auto& address = service->server().addresses().front();
  const Instant begin = now();
  EXPECT_EQ(converse(address, "", false), "");
  EXPECT_EQ(status_of(converse(address, "GET /v2/ HT", false)), 408);
  EXPECT_LT(now() - begin, 4s);
}

TEST(ServiceTest, FaultsOnTheWire) {
  const std::string get = "GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_TRUE(talk(*start({"chunked=1; trailer=X-A: b"}), get)
                  .ends_with("\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\nX-A: b\r\n\r\n"));
  const std::string until_close = talk(*start({"no_length"}), get);
  EXPECT_FALSE(until_close.contains("Content-Length"));
  EXPECT_TRUE(until_close.ends_with("{}"));
  const std::string cut = talk(*start({"truncate=1"}), get);
  EXPECT_TRUE(cut.contains("Content-Length: 2\r\n") && cut.ends_with("\r\n\r\n{"));
  EXPECT_EQ(talk(*start({"reset"}), get), "");
  EXPECT_TRUE(talk(*start({"http10"}), get).starts_with("HTTP/1.0 200 OK\r\n"));
  EXPECT_EQ(count(talk(*start({"close_after=2"}), get + get + get), " 200 OK"), 2U);
  EXPECT_EQ(talk(*start({"refuse"}), get), "");
  EXPECT_TRUE(talk(*start({"rate=100"}), get).ends_with("{}"));
}

TEST(ServiceTest, DrainsWhatIsInFlightAndEndsTheRest) {
  const auto service = start({"route=ping; latency=200ms"}, 2);
  const auto address = service->server().addresses().front();
  std::string answer;
  // The second request has come by the time that the first, which nothing holds up, is answered.
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(fd, address.data(), address.size()), 0);
  const std::string requests = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\nGET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_EQ(send(fd, requests.data(), requests.size(), MSG_NOSIGNAL), std::ssize(requests));
  const int idle = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(idle, address.data(), address.size()), 0);
  std::string piece(65536, '\0');
  ASSERT_GT(recv(fd, piece.data(), piece.size(), 0), 0);
  std::thread slow([&] {
    for (ssize_t got = 0; (got = recv(fd, piece.data(), piece.size(), 0)) > 0;)
      answer.append(piece, 0, static_cast<std::size_t>(got));
    close(fd);
  });
  const Instant begin = now();
  service->drain(5s);
  EXPECT_LT(now() - begin, 3s);
  slow.join();
  char byte = 0;
  EXPECT_LE(recv(idle, &byte, 1, 0), 0);
  close(idle);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(answer.contains("Connection: close\r\n"));
}

TEST(ServiceTest, CountsWhatItDid) {
  const auto service = start();
  talk(*service,
       "GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\nPUT /absent HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
  const std::string metrics = talk(*service, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(metrics.contains("plimsoll_requests_total{resource=\"ping\",method=\"GET\",class=\"2xx\"} 1\n"))
      << metrics;
  EXPECT_TRUE(metrics.contains("plimsoll_responses_total{status=\"404\"} 1\n"));
  EXPECT_TRUE(metrics.contains("plimsoll_memory_limit_bytes 67108864\n"));
}

}  // namespace
}  // namespace plimsoll::server
