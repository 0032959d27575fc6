#include "server/access.h"

#include <crypt.h>
#include <gtest/gtest.h>

#include "server/access_log.h"
#include "server/registry.h"
#include "server/test_client.h"

namespace plimsoll::server {
namespace {

std::string bcrypt(const char* password) {
  crypt_data data{};
  return crypt_r(password, "$2y$04$abcdefghijklmnopqrstuu", &data);
}

std::string basic(std::string_view credentials) {
  return "Authorization: Basic " + base64_encode(credentials) + "\r\n";
}

class AccessTest : public testing::Test {
 protected:
  std::unique_ptr<Store> store_ = Store::in_memory(1 << 20);
  Caller caller_;
  Registry registry_{*store_, caller_.workers, {}};
  Htpasswd users_ = std::move(*Htpasswd::parse("# users\nann:" + bcrypt("s:e:c") + "\n"));
};

TEST_F(AccessTest, BasicLetsInWhoIsInTheFile) {
  AccessControl access(registry_, &users_, nullptr, caller_.workers);
  const Reply anonymous = caller_.call(access, "GET", "/v2/");
  EXPECT_EQ(anonymous.status, 401);
  EXPECT_EQ(anonymous.field("WWW-Authenticate"), "Basic realm=\"plimsoll\"");
  EXPECT_TRUE(anonymous.body.contains("UNAUTHORIZED"));
  EXPECT_EQ(caller_.call(access, "GET", "/v2/", basic("ann:s:e:c")).status, 200);
  EXPECT_TRUE(users_.remembers({"ann", "s:e:c"}));
  EXPECT_EQ(caller_.call(access, "GET", "/v2/", basic("ann:s:e:c")).status, 200);
  for (const char* wrong : {"ann:wrong", "bob:s:e:c", "ann", ":"}) {
    EXPECT_EQ(caller_.call(access, "GET", "/v2/", basic(wrong)).status, 401) << wrong;
  }
  EXPECT_EQ(caller_.call(access, "GET", "/v2/", "Authorization: Basic ???\r\n").status, 401);
}

TEST_F(AccessTest, FilesWithOtherHashesAreRefused) {
  for (const char* text : {"ann", "ann:plain", ":$2y$", "ann:$apr1$x$y"}) {
    const auto parsed = Htpasswd::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_TRUE(parsed.error().message.contains("line 1")) << parsed.error().message;
  }
}

TEST_F(AccessTest, TokensOpenWhatTheyWereGivenFor) {
  Tokens tokens({.lifetime = std::chrono::seconds(60)});
  TokenService service(tokens, &users_, caller_.workers);
  AccessControl access(registry_, &users_, &tokens, caller_.workers);
  const auto token_for = [&](const std::string& scope, const std::string& fields) {
    const std::string body =
        caller_.call(service, "GET", "/token?service=plimsoll&scope=" + scope, fields).body;
    const auto begin = body.find(":\"") + 2;
    return "Authorization: Bearer " + body.substr(begin, body.find('"', begin) - begin) + "\r\n";
  };
  const Reply challenge = caller_.call(access, "PUT", "/v2/a/b/manifests/v1", {}, "{}");
  EXPECT_EQ(challenge.status, 401);
  EXPECT_EQ(
      challenge.field("WWW-Authenticate"),
      "Bearer realm=\"http://registry.test/token\",service=\"plimsoll\",scope=\"repository:a/b:pull,push\"");
  const std::string pull = token_for("repository:a/b:pull", basic("ann:s:e:c"));
  EXPECT_EQ(caller_.call(access, "GET", "/v2/a/b/tags/list", pull).status, 404);
  EXPECT_EQ(caller_.call(access, "GET", "/v2/a/c/tags/list", pull).status, 401);
  EXPECT_TRUE(caller_.call(access, "POST", "/v2/a/b/blobs/uploads/", pull)
                  .field("WWW-Authenticate")
                  .contains("insufficient_scope"));
  const std::string push = token_for("repository:a/b:pull,push", basic("ann:s:e:c"));
  EXPECT_EQ(caller_.call(access, "POST", "/v2/a/b/blobs/uploads/", push).status, 202);
  EXPECT_EQ(caller_.call(access, "POST", "/v2/a/b/blobs/uploads/?mount=sha256:0&from=other", push).status,
            401);
  const std::string nothing = token_for("repository:a/b:pull", "");
  EXPECT_EQ(caller_.call(access, "GET", "/v2/a/b/tags/list", nothing).status, 401);
  EXPECT_EQ(caller_.call(service, "GET", "/token?scope=repository:a/b:pull", basic("ann:wrong")).status, 401);
  const Reply form = caller_.call(
      service, "POST", "/token", "Content-Type: application/x-www-form-urlencoded\r\n",
      "grant_type=password&username=ann&password=s%3Ae%3Ac&scope=repository:a/b:pull+repository:c:pull");
  EXPECT_EQ(form.status, 200);
}

TEST(Tokens, EndAndCannotBeForged) {
  const Tokens tokens({.lifetime = std::chrono::seconds(60)});
  const std::string token = tokens.issue({"ann b", {{"repository", "a", {"pull"}}}}, 1000);
  const auto grant = tokens.check(token, 1059);
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->user, "ann b");
  EXPECT_TRUE(grant->scopes.at(0).allows("repository", "a", "pull"));
  EXPECT_FALSE(grant->scopes.at(0).allows("repository", "a", "push"));
  EXPECT_FALSE(tokens.check(token, 1060));
  EXPECT_FALSE(Tokens({}).check(token, 1000));
  std::string forged = token;
  forged[3] = forged[3] == '0' ? '1' : '0';
  EXPECT_FALSE(tokens.check(forged, 1000));
  for (const char* text : {"", ".", "zz.x", "1"}) EXPECT_FALSE(tokens.check(text, 1000)) << text;
}

TEST(AccessLog, EscapesWhatClientsSend) {
  http::RequestHead head;
  head.method_text = "GET";
  head.target = "/a\"b";
  head.headers.add("User-Agent", "evil\\\"\x01");
  http::ServerAnswer answer;
  TextBodyReader body("");
  const auto loop = std::move(*net::Loop::create(net::IoKind::epoll));
  const net::Address peer = *net::Address::parse_ip("127.0.0.1", 1);
  const bool draining = false;
  const http::Call call{.request = head,
                        .body = body,
                        .answer = answer,
                        .loop = *loop,
                        .peer = peer,
                        .draining = draining,
                        .user = "ann"};
  const http::Served served{.call = call, .body_sent = 7};
  EXPECT_EQ(log_line(served, LogFormat::combined, 784111777),
            "127.0.0.1 - ann [06/Nov/1994:08:49:37 +0000] \"GET /a\\\"b HTTP/1.1\" 200 7 \"-\" "
            "\"evil\\\\\\\"\\x01\"\n");
  EXPECT_EQ(log_line(served, LogFormat::json, 784111777),
            "{\"time\":\"1994-11-06T08:49:37Z\",\"peer\":\"127.0.0.1:1\",\"user\":\"ann\",\"method\":\"GET\","
            "\"target\":\"/a\\\"b\","
            "\"user_agent\":\"evil\\\\\\\"\\u0001\",\"status\":200,\"received\":0,\"sent\":7,\"duration_s\":"
            "0.000000,\"complete\":true}\n");
}

}  // namespace
}  // namespace plimsoll::server
