// Every form of misbehaviour, against the handler; how answers go out is in service_test.cc.
#include "server/faults.h"

#include <gtest/gtest.h>

#include "oci/media_types.h"
#include "server/registry.h"
#include "server/test_client.h"

namespace plimsoll::server {
namespace {

const std::string kBytes = "some bytes";
const std::string kDigest = oci::Digest::of(kBytes).text();
const std::string kManifestType = "Content-Type: " + std::string(oci::kOciManifest) + "\r\n";

class FaultsTest : public testing::Test {
 protected:
  void script(const std::vector<std::string>& rules) {
    auto parsed = FaultScript::parse(rules, 7);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    script_ = std::move(*parsed);
    faults_ = std::make_unique<Faults>(registry_, script_);
  }
  Reply call(std::string_view method, const std::string& target, std::string_view fields = {},
             std::string_view body = {}) {
    return caller_.call(*faults_, method, target, fields, body);
  }

  std::unique_ptr<Store> store_ = Store::in_memory(1 << 20);
  Caller caller_;
  Registry registry_{*store_, caller_.workers, {}};
  FaultScript script_;
  std::unique_ptr<Faults> faults_;
};

TEST_F(FaultsTest, StatusWithHeadersAndBody) {
  script({"route=manifest; method=GET,HEAD; status=429; retry_after=3; header=X-A: b; body=<html>"});
  const Reply reply = call("GET", "/v2/a/manifests/v1");
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.field("Retry-After"), "3");
  EXPECT_EQ(reply.field("X-A"), "b");
  EXPECT_EQ(reply.body, "<html>");
  EXPECT_EQ(call("PUT", "/v2/a/manifests/v1", kManifestType, "{}").status, 201);
  script({"status=429; retry_after=date:3"});
  EXPECT_TRUE(http::parse_http_date(call("GET", "/v2/").field("Retry-After")));
  EXPECT_TRUE(call("GET", "/v2/").body.contains("TOOMANYREQUESTS"));
}

TEST_F(FaultsTest, ChoosesByShareCountAndOrder) {
  const auto hits = [&](const std::string& conditions) {
    script({"route=ping; status=500; " + conditions});
    std::string pattern;
    for (int i = 0; i < 12; ++i) pattern += call("GET", "/v2/").status == 500 ? 'x' : '.';
    return pattern;
  };
  EXPECT_EQ(hits("every=3"), "x..x..x..x..");
  EXPECT_EQ(hits("skip=2; count=3"), "..xxx.......");
  EXPECT_EQ(hits("share=0"), "............");
  const std::string some = hits("share=0.5");
  EXPECT_TRUE(some.contains('x') && some.contains('.'));
  EXPECT_EQ(hits("share=0.5"), some);
}

TEST_F(FaultsTest, LocationInEveryForm) {
  const auto location = [&](const std::string& form) {
    script({"route=upload_start; location=" + form});
    return call("POST", "/v2/a/blobs/uploads/").field("Location");
  };
  const std::string path = "/v2/a/blobs/uploads/";
  EXPECT_TRUE(location("absolute").starts_with("http://registry.test" + path));
  EXPECT_TRUE(location("https").starts_with("https://registry.test" + path));
  EXPECT_TRUE(location("network").starts_with("//registry.test" + path));
  EXPECT_TRUE(location("http://other:1").starts_with("http://other:1" + path));
  EXPECT_FALSE(location("relative").contains('/'));
  EXPECT_TRUE(location("dotted").starts_with("../uploads/"));
  EXPECT_TRUE(location("query").ends_with("?_state=a%2Bb%3D%3D"));
  EXPECT_EQ(location("empty"), "");
  EXPECT_EQ(location("missing"), "");
}

TEST_F(FaultsTest, StateMustComeBackByteForByte) {
  script({"location=query"});
  const std::string url = call("POST", "/v2/a/blobs/uploads/").field("Location");
  EXPECT_EQ(call("PATCH", url.substr(0, url.find('?')), {}, kBytes).status, 404);
  EXPECT_EQ(call("PATCH", url.substr(0, url.find('?')) + "?_state=a+b==", {}, kBytes).status, 404);
  EXPECT_EQ(call("PATCH", url, {}, kBytes).status, 202);
  EXPECT_EQ(call("PUT", url + "&digest=" + kDigest).status, 201);
}

TEST_F(FaultsTest, RotatingLocationsEndTheirForerunners) {
  script({"location=rotating"});
  const std::string first = call("POST", "/v2/a/blobs/uploads/").field("Location");
  const std::string second = call("PATCH", first, {}, kBytes).field("Location");
  EXPECT_NE(first, second);
  EXPECT_EQ(call("PATCH", first, {}, "x").status, 404);
  EXPECT_EQ(call("PUT", second + "&digest=" + kDigest).status, 201);
}

TEST_F(FaultsTest, RangeInEveryForm) {
  const auto range = [&](const std::string& form) {
    script({"route=upload; method=PATCH; range=" + form});
    const std::string url = call("POST", "/v2/a/blobs/uploads/").field("Location");
    call("PATCH", url, {}, "abc");
    return call("PATCH", url, {}, "de").field("Range");
  };
  EXPECT_EQ(range("missing"), "");
  EXPECT_EQ(range("bytes"), "bytes=0-4");
  EXPECT_EQ(range("off_by_one"), "0-5");
  EXPECT_EQ(range("stuck"), "0-0");
  EXPECT_EQ(range("last_chunk"), "0-1");
}

TEST_F(FaultsTest, MountsMissDigestsLieBlobsMove) {
  script({"mount=miss", "route=blob; method=HEAD; digest=wrong",
          "route=blob; method=GET; redirect=http://127.0.0.1:9"});
  ASSERT_EQ(call("POST", "/v2/a/blobs/uploads/?digest=" + kDigest, {}, kBytes).status, 202);
  script({"route=upload_start; method=POST; mount=miss; skip=1", "route=blob; method=HEAD; digest=wrong",
          "route=blob; method=GET; redirect=http://127.0.0.1:9"});
  ASSERT_EQ(call("POST", "/v2/a/blobs/uploads/?digest=" + kDigest, {}, kBytes).status, 201);
  EXPECT_EQ(call("POST", "/v2/b/blobs/uploads/?mount=" + kDigest + "&from=a").status, 202);
  EXPECT_EQ(call("HEAD", "/v2/a/blobs/" + kDigest).field("Docker-Content-Digest"),
            "sha256:" + std::string(64, '0'));
  const Reply moved = call("GET", "/v2/a/blobs/" + kDigest);
  EXPECT_EQ(moved.status, 307);
  EXPECT_EQ(moved.field("Location"), "http://127.0.0.1:9/v2/a/blobs/" + kDigest);
}

TEST_F(FaultsTest, AuthorizationIsRejectedWhereItDoesNotBelong) {
  script({"reject_authorization"});
  EXPECT_EQ(call("GET", "/v2/").status, 200);
  EXPECT_EQ(call("GET", "/v2/", "Authorization: Bearer x\r\n").status, 400);
}

TEST_F(FaultsTest, PagesAndLinks) {
  script({"route=tags; page=2"});
  for (const char* tag : {"a", "b", "c"})
    call("PUT", std::string("/v2/r/manifests/") + tag, kManifestType, "{}");
  const Reply page = call("GET", "/v2/r/tags/list?n=100");
  EXPECT_EQ(page.body, "{\"name\":\"r\",\"tags\":[\"a\",\"b\"]}\n");
  const auto link = [&](const std::string& form) {
    script({"route=tags; page=2; link=" + form});
    return call("GET", "/v2/r/tags/list").field("Link");
  };
  EXPECT_EQ(link("absolute"), "<http://registry.test/v2/r/tags/list?n=2&last=b>; rel=\"next\"");
  EXPECT_EQ(link("unquoted"), "</v2/r/tags/list?n=2&last=b>; rel=next");
  EXPECT_EQ(link("missing"), "");
  EXPECT_TRUE(link("several").ends_with("rel=\"prefetch next\""));
}

TEST_F(FaultsTest, AStatusCanBeChangedAfterTheWorkIsDone) {
  script({"route=upload; method=PATCH; as_status=201"});
  const std::string url = call("POST", "/v2/a/blobs/uploads/").field("Location");
  EXPECT_EQ(call("PATCH", url, {}, kBytes).status, 201);
  EXPECT_EQ(call("PUT", url + "?digest=" + kDigest).status, 201);
}

TEST_F(FaultsTest, LatencyIsAddedAndFreezesHold) {
  script({"latency=20ms..30ms"});
  const Instant start = now();
  EXPECT_EQ(call("GET", "/v2/").status, 200);
  EXPECT_GE(now() - start, std::chrono::milliseconds(20));
  script({"freeze=50ms/1h"});
  const Instant frozen = now();
  call("GET", "/v2/");
  EXPECT_GE(now() - frozen, std::chrono::milliseconds(40));
}

TEST(FaultScript, RefusesInOneLineThatNamesTheForm) {
  const std::vector<std::pair<std::string, std::string>> cases{{"nonsense=1", "'nonsense' is not a key"},
                                                               {"share=2", "share=2 is not 0 to 1"},
                                                               {"status=99", "status=99 is not 200 to 599"},
                                                               {"route=nowhere", "is not ping, catalog"},
                                                               {"latency=fast", "is not 20ms"},
                                                               {"freeze=5s", "is not 5s/10s"},
                                                               {"every=0", "every=0"},
                                                               {"location=up", "is not absolute"},
                                                               {"header=X", "is not Name: value"},
                                                               {"@/nowhere/at/all", "cannot be read"}};
  for (const auto& [text, message] : cases) {
    const auto parsed = FaultScript::parse({text}, 1);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_TRUE(parsed.error().message.contains(message)) << parsed.error().message;
    EXPECT_FALSE(parsed.error().message.contains('\n'));
  }
}

}  // namespace
}  // namespace plimsoll::server
