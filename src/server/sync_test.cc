// On-demand sync between servers in this process, over TCP.
#include "server/sync.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "net/connect.h"
#include "server/service.h"
#include "server/test_client.h"

namespace plimsoll::server {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kManifestType = "application/vnd.oci.image.manifest.v1+json";
constexpr std::string_view kIndexType = "application/vnd.oci.image.index.v1+json";

ServiceOptions options_of(std::vector<std::string> origins, std::vector<std::string> faults = {}) {
  ServiceOptions options;
  options.server.listen = {*net::parse_listen("0")};
  options.server.io = net::IoKind::epoll;
  options.memory_limit = 64 << 20;
  options.faults = std::move(faults);
  for (const auto& text : origins) {
    auto origin = parse_sync_origin(text);
    EXPECT_TRUE(origin.has_value()) << text;
    options.sync_from.push_back(std::move(*origin));
  }
  return options;
}

std::unique_ptr<Service> start(const ServiceOptions& options) {
  auto service = Service::start(options);
  EXPECT_TRUE(service.has_value()) << service.error().message;
  return std::move(*service);
}

std::unique_ptr<Service> start(std::vector<std::string> origins = {}, std::vector<std::string> faults = {}) {
  return start(options_of(std::move(origins), std::move(faults)));
}

std::string ask(const Service& service, std::string_view method, std::string_view path,
                std::string_view fields = {}, std::string_view body = {}) {
  return converse(
      service.server().addresses().front(),
      fmt::format("{} {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{}", method,
                  path, fields, body.size(), body));
}

int status_of(std::string_view answer) {
  return answer.size() < 12 ? 0 : static_cast<int>(parse_u64(answer.substr(9, 3)).value_or(0));
}

int get(const Service& service, std::string_view path) {
  return status_of(ask(service, "GET", path));
}

std::string body_of(std::string_view answer) {
  return std::string(answer.substr(std::min(answer.size(), answer.find("\r\n\r\n") + 4)));
}

// A figure of /metrics.
std::uint64_t figure(const Service& service, std::string_view name) {
  const std::string text = ask(service, "GET", "/metrics");
  const std::string line = fmt::format("\n{} ", name);
  const auto at = text.find(line);
  if (at == std::string::npos) return 0;
  const auto from = at + line.size();
  return parse_u64(std::string_view(text).substr(from, text.find('\n', from) - from)).value_or(0);
}

std::string put_blob(const Service& service, std::string_view repository, std::string_view content) {
  const std::string digest = oci::Digest::of(content).text();
  const auto path = fmt::format("/v2/{}/blobs/uploads/?digest={}", repository, digest);
  EXPECT_EQ(status_of(ask(service, "POST", path, {}, content)), 201);
  return digest;
}

std::string descriptor(std::string_view type, std::string_view content) {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}}})", type, oci::Digest::of(content).text(),
                     content.size());
}

void put_manifest(const Service& service, std::string_view repository, std::string_view reference,
                  std::string_view type, std::string_view body) {
  EXPECT_EQ(status_of(ask(service, "PUT", fmt::format("/v2/{}/manifests/{}", repository, reference),
                          fmt::format("Content-Type: {}\r\n", type), body)),
            201);
}

// An image of a configuration and two layers, pushed; its manifest.
std::string image_of(std::string_view seed) {
  std::string layers;
  for (const char* part : {"one", "two"}) {
    if (!layers.empty()) layers += ',';
    layers += descriptor("application/vnd.oci.image.layer.v1.tar", fmt::format("{} {}", seed, part));
  }
  return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{}]}})", kManifestType,
                     descriptor("application/vnd.oci.image.config.v1+json", "{}"), layers);
}
std::string push_image(const Service& service, std::string_view repository, std::string_view tag,
                       std::string_view seed) {
  put_blob(service, repository, "{}");
  for (const char* part : {"one", "two"}) put_blob(service, repository, fmt::format("{} {}", seed, part));
  std::string manifest = image_of(seed);
  put_manifest(service, repository, tag, kManifestType, manifest);
  return manifest;
}

std::string blob_path(std::string_view repository, std::string_view content) {
  return fmt::format("/v2/{}/blobs/{}", repository, oci::Digest::of(content).text());
}

TEST(SyncOriginTest, ReadsWhatTheOptionSays) {
  const auto origin = parse_sync_origin(
      "https://up.test:5000/,prefix=team/app,prefix=library,fresh=30s,timeout=2s,cacert=ca.pem,insecure,"
      "auth=ann:a,b:c");
  ASSERT_TRUE(origin.has_value()) << origin.error().message;
  EXPECT_EQ(origin->url.origin(), "https://up.test:5000");
  EXPECT_EQ(origin->fresh, 30s);
  EXPECT_EQ(origin->timeout, 2s);
  EXPECT_EQ(origin->cacert, "ca.pem");
  EXPECT_TRUE(origin->insecure);
  EXPECT_EQ(origin->auth, "ann:a,b:c");
  EXPECT_TRUE(origin->covers("team/app") && origin->covers("team/app/web") && origin->covers("library/x"));
  EXPECT_FALSE(origin->covers("team/application") || origin->covers("team"));
  for (const char* text :
       {"", "up.test", "ftp://up.test", "http://up.test,prefix=", "http://up.test,prefix=A",
        "http://up.test,fresh=soon", "http://up.test,speed=3", "http://up.test,insecure=no"}) {
    EXPECT_FALSE(parse_sync_origin(text).has_value()) << text;
  }
}

TEST(SyncOriginTest, KnowsItself) {
  const auto leads = [](const char* url, const char* listen) {
    return leads_to(*parse_sync_origin(url), std::vector{*net::parse_listen(listen)});
  };
  EXPECT_TRUE(leads("http://127.0.0.1:5000", "5000"));
  EXPECT_TRUE(leads("http://127.0.0.1:5000/", "0.0.0.0:5000"));
  EXPECT_FALSE(leads("http://127.0.0.1:5001", "5000"));
  EXPECT_FALSE(leads("http://192.0.2.1:5000", "0.0.0.0:5000"));
  EXPECT_FALSE(leads("http://127.0.0.2:5000", "5000"));
}

TEST(SyncTest, CopiesAnImageWholeBeforeItAnswers) {
  auto upstream = start();
  const std::string manifest = push_image(*upstream, "team/app", "v1", "x");
  const auto target = start({upstream->url()});
  const std::string answer = ask(*target, "GET", "/v2/team/app/manifests/v1");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), manifest);
  EXPECT_TRUE(answer.contains(fmt::format("Content-Type: {}\r\n", kManifestType)));
  // All of it is here now.
  upstream.reset();
  for (const char* content : {"{}", "x one", "x two"}) {
    EXPECT_EQ(body_of(ask(*target, "GET", blob_path("team/app", content))), content);
  }
  EXPECT_EQ(get(*target, fmt::format("/v2/team/app/manifests/{}", oci::Digest::of(manifest).text())), 200);
  EXPECT_EQ(figure(*target, "plimsoll_sync_images_total"), 1U);
  EXPECT_EQ(figure(*target, "plimsoll_sync_blobs_total"), 3U);
}

TEST(SyncTest, CopiesIndexesWithTheirManifestsByDigestToo) {
  auto upstream = start();
  const std::string first = push_image(*upstream, "multi", "first", "1");
  const std::string second = push_image(*upstream, "multi", "second", "2");
  const std::string index =
      fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{},{},{}]}})", kIndexType,
                  descriptor(kManifestType, first), descriptor(kManifestType, second),
                  descriptor(kManifestType, "which nobody has: indexes may be sparse"));
  put_manifest(*upstream, "multi", "all", kIndexType, index);
  const auto target = start({upstream->url()});
  const auto path = [](std::string_view bytes) {
    return fmt::format("/v2/multi/manifests/{}", oci::Digest::of(bytes).text());
  };
  EXPECT_EQ(body_of(ask(*target, "GET", path(index))), index);
  upstream.reset();
  EXPECT_EQ(body_of(ask(*target, "GET", path(first))), first);
  EXPECT_EQ(body_of(ask(*target, "GET", path(second))), second);
  EXPECT_EQ(get(*target, blob_path("multi", "2 two")), 200);
  EXPECT_EQ(get(*target, "/v2/multi/manifests/all"), 502);  // the tag was never asked for
}

TEST(SyncTest, FollowsATagThatMovesAndFallsBackToItsCopy) {
  auto upstream = start();
  const std::string old = push_image(*upstream, "app", "latest", "old");
  const auto target = start({upstream->url()});
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/app/manifests/latest")), old);
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/app/manifests/latest")), old);
  EXPECT_EQ(figure(*target, "plimsoll_sync_images_total"), 1U);
  EXPECT_EQ(figure(*target, "plimsoll_sync_lookups_total"), 2U);
  const std::string renewed = push_image(*upstream, "app", "latest", "new");
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/app/manifests/latest")), renewed);
  EXPECT_EQ(get(*target, "/v2/app/manifests/absent"), 404);
  EXPECT_EQ(figure(*target, "plimsoll_sync_failures_total"), 0U);
  upstream.reset();
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/app/manifests/latest")), renewed);
  EXPECT_EQ(figure(*target, "plimsoll_sync_failures_total"), 1U);
  const std::string unknown = ask(*target, "GET", "/v2/app/manifests/absent");
  EXPECT_EQ(status_of(unknown), 502);
  EXPECT_TRUE(unknown.contains("an upstream registry failed")) << unknown;
}

TEST(SyncTest, ATagIsFreshForAsLongAsSaid) {
  const auto upstream = start();
  const std::string old = push_image(*upstream, "app", "latest", "old");
  const auto target = start({upstream->url() + ",fresh=1h"});
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/app/manifests/latest")), old);
  push_image(*upstream, "app", "latest", "new");
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/app/manifests/latest")), old);
  EXPECT_EQ(figure(*target, "plimsoll_sync_lookups_total"), 1U);
}

TEST(SyncTest, RequestsForOneReferenceShareOneCopyWhichNoClientEnds) {
  const auto upstream = start({}, {"route=blob; method=GET; latency=300ms"});
  push_image(*upstream, "app", "v1", "x");
  auto options = options_of({upstream->url()});
  options.server.threads = 2;
  const auto target = start(options);
  // This one asks and leaves.
  const auto& address = target->server().addresses().front();
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(fd, address.data(), address.size()), 0);
  constexpr std::string_view kRequest = "GET /v2/app/manifests/v1 HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_EQ(send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL), std::ssize(kRequest));
  while (figure(*target, "plimsoll_sync_lookups_total") == 0) std::this_thread::sleep_for(1ms);
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(fd);
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] { EXPECT_EQ(get(*target, "/v2/app/manifests/v1"), 200); });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(figure(*target, "plimsoll_sync_images_total"), 1U);
  EXPECT_EQ(figure(*target, "plimsoll_sync_blobs_total"), 3U);
  const std::string metrics = ask(*upstream, "GET", "/metrics");
  EXPECT_TRUE(metrics.contains("plimsoll_requests_total{resource=\"blob\",method=\"GET\",class=\"2xx\"} 3\n"))
      << metrics;
}

TEST(SyncTest, WhatIsNotWhatItsDigestSaysIsNotKept) {
  const auto upstream = start({}, {"route=blob; method=GET; status=200; body=something else"});
  push_image(*upstream, "app", "v1", "x");
  std::string reported;
  auto options = options_of({upstream->url()});
  options.sync_report = [&](std::string_view problem) { reported = problem; };
  const auto target = start(options);
  EXPECT_EQ(get(*target, "/v2/app/manifests/v1"), 502);
  EXPECT_EQ(get(*target, blob_path("app", "x one")), 404);
  target->drain(0s);
  EXPECT_TRUE(reported.contains("app@sha256:")) << reported;
}

TEST(SyncTest, AsksTheFirstUpstreamThatHasTheRepository) {
  const auto first = start();
  const auto second = start();
  push_image(*first, "one/app", "v1", "first");
  push_image(*second, "one/app", "v1", "never asked");
  const std::string of_two = push_image(*second, "two/app", "v1", "second");
  push_image(*second, "three/app", "v1", "covered by none");
  const auto target = start({first->url() + ",prefix=one,prefix=two", second->url() + ",prefix=two"});
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/one/app/manifests/v1")), image_of("first"));
  EXPECT_EQ(body_of(ask(*target, "GET", "/v2/two/app/manifests/v1")), of_two);
  EXPECT_EQ(get(*target, "/v2/three/app/manifests/v1"), 404);
}

net::Address free_address() {
  const auto listener = net::Listener::open(*net::parse_listen("0"), {});
  return listener->address();
}

TEST(SyncTest, ServersThatCopyFromEachOtherEnd) {
  // Each is told of the other's port before it listens.
  auto options = options_of({});
  options.server.listen = {free_address()};
  auto other_options = options_of({});
  other_options.server.listen = {free_address()};
  options.sync_from = {*parse_sync_origin("http://" + other_options.server.listen.front().to_string())};
  other_options.sync_from = {*parse_sync_origin("http://" + options.server.listen.front().to_string())};
  const auto one = start(options);
  const auto other = start(other_options);
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] { EXPECT_EQ(get(i % 2 == 0 ? *one : *other, "/v2/a/manifests/v1"), 404); });
  }
  for (auto& client : clients) client.join();
  const std::string manifest = push_image(*other, "app", "v1", "x");
  EXPECT_EQ(body_of(ask(*one, "GET", "/v2/app/manifests/v1")), manifest);
  EXPECT_EQ(body_of(ask(*other, "GET", "/v2/app/manifests/v1")), manifest);
}

TEST(SyncTest, AServerThatIsToCopyFromItselfDoesNotStart) {
  auto options = options_of({});
  options.server.listen = {free_address()};
  options.sync_from = {*parse_sync_origin("http://" + options.server.listen.front().to_string())};
  const auto started = Service::start(options);
  ASSERT_FALSE(started.has_value());
  EXPECT_TRUE(started.error().message.contains("this server itself")) << started.error().message;
}

TEST(SyncTest, ADrainEndsCopiesInTime) {
  const auto upstream = start({}, {"route=blob; method=GET; latency=20s"});
  push_image(*upstream, "app", "v1", "x");
  const auto target = start({upstream->url()});
  std::thread client([&] { get(*target, "/v2/app/manifests/v1"); });
  while (figure(*target, "plimsoll_sync_lookups_total") == 0) std::this_thread::sleep_for(1ms);
  const Instant begin = now();
  target->drain(50ms);
  EXPECT_LT(now() - begin, 10s);
  client.join();
  upstream->drain(0s);
}

}  // namespace
}  // namespace plimsoll::server
