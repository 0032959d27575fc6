#include "oci/token.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "oci/credentials.h"

namespace plimsoll::oci {
namespace {

using std::chrono::seconds;

const ReplyTime kReceived{Instant(seconds(1000)), 1'800'000'000};

Token parsed(std::string_view body) {
  auto token = parse_token_reply(body, kReceived);
  EXPECT_TRUE(token) << body;
  return token ? *token : Token{};
}

Nanos life(std::string_view body) {
  return parsed(body).expires_at - kReceived.monotonic;
}

TEST(TokenReply, C28EitherNameIsTaken) {
  EXPECT_EQ(parsed(R"({"token":"a"})").value, "a");
  EXPECT_EQ(parsed(R"({"access_token":"b"})").value, "b");
  EXPECT_EQ(parsed(R"({"access_token":"b","token":"a","scope":"x","more":{"deep":[1]}})").value, "a");
  EXPECT_EQ(parsed(R"({"token":"","access_token":"b"})").value, "b");
  EXPECT_EQ(parsed(R"({"token":null,"access_token":"b","refresh_token":"r"})").refresh_token, "r");
}

TEST(TokenReply, C28LifetimeInAnyForm) {
  EXPECT_EQ(life(R"({"token":"a"})"), seconds(60));
  EXPECT_EQ(life(R"({"token":"a","expires_in":0})"), seconds(60));
  EXPECT_EQ(life(R"({"token":"a","expires_in":-5})"), seconds(60));
  EXPECT_EQ(life(R"({"token":"a","expires_in":1})"), seconds(60));
  EXPECT_EQ(life(R"({"token":"a","expires_in":300})"), seconds(300));
  EXPECT_EQ(life(R"({"token":"a","expires_in":"300"})"), seconds(300));
  EXPECT_EQ(life(R"({"token":"a","expires_in":300.7})"), seconds(300));
  EXPECT_EQ(life(R"({"token":"a","expires_in":"soon"})"), seconds(60));
  EXPECT_EQ(life(R"({"token":"a","expires_in":null})"), seconds(60));
  EXPECT_EQ(life(R"({"token":"a","expires_in":1e300})"), seconds(366LL * 24 * 3600));
}

TEST(TokenReply, IssuedAtShortensOnlyWherePlausible) {
  const auto issued = [](const char* when) {
    return life(fmt::format(R"({{"token":"a","expires_in":300,"issued_at":"{}"}})", when));
  };
  EXPECT_EQ(issued("2027-01-15T08:00:00Z"), seconds(300));       // at this moment
  EXPECT_EQ(issued("2027-01-15T07:58:20Z"), seconds(200));       // 100 s ago
  EXPECT_EQ(issued("2027-01-15T09:58:20+02:00"), seconds(200));  // the same, elsewhere
  EXPECT_EQ(issued("2027-01-15T09:00:00Z"), seconds(300));       // a clock that is ahead
  EXPECT_EQ(issued("2027-01-15T07:00:00Z"), seconds(300));       // or far behind
  EXPECT_EQ(issued("yesterday"), seconds(300));
}

TEST(TokenReply, IsRenewedAheadOfItsEnd) {
  const Token brief = parsed(R"({"token":"a","expires_in":60})");
  EXPECT_EQ(brief.expires_at - brief.renew_at, seconds(12));
  const Token lasting = parsed(R"({"token":"a","expires_in":3600})");
  EXPECT_EQ(lasting.expires_at - lasting.renew_at, seconds(60));
  EXPECT_FALSE(lasting.due(kReceived.monotonic));
  EXPECT_TRUE(lasting.due(lasting.renew_at));
  EXPECT_TRUE(lasting.usable(lasting.renew_at));
  EXPECT_FALSE(lasting.usable(lasting.expires_at));
}

TEST(TokenReply, NonsenseIsATokenError) {
  for (const auto* body : {"", "<html>", "[]", "{}", R"({"token":5})", R"({"token":""})",
                           R"({"token":"a b"})", R"({"token":"a\r\nX: y"})", R"({"access_token":null})"}) {
    const auto token = parse_token_reply(body, kReceived);
    ASSERT_FALSE(token) << body;
    EXPECT_EQ(token.error().kind, ErrorKind::token);
  }
}

TEST(Rfc3339, ReadsAndRefuses) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_rfc3339("2000-02-29T12:00:00.123456789-01:30"), 951'831'000);
  EXPECT_EQ(parse_rfc3339("2009-11-10t23:00:00z"), 1'257'894'000);
  for (const auto* text :
       {"", "2009", "2009-11-10", "2009-11-10T23:00:00", "2009-13-10T23:00:00Z", "2009-02-30T23:00:00Z",
        "2009-11-10T24:00:00Z", "2009-11-10T23:00:00.", "2009-11-10T23:00:00+2", "x009-11-10T23:00:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(TokenKey, WritesQueryAndForm) {
  const TokenKey key{"https://auth/token", "reg.example:5000",
                     ScopeSet::parse("repository:a/b:pull,push registry:catalog:*")};
  EXPECT_EQ(key.query("me&you"),
            "service=reg.example%3A5000&scope=registry%3Acatalog%3A%2A&scope=repository%3Aa%2Fb%3Apull%2Cpush"
            "&account=me%26you");
  EXPECT_EQ(TokenKey{}.query(""), "");
  EXPECT_EQ(key.form(Credentials{"u", "p&=", ""}),
            "grant_type=password&username=u&password=p%26%3D&client_id=plimsoll&service=reg.example%3A5000"
            "&scope=registry%3Acatalog%3A%2A%20repository%3Aa%2Fb%3Apull%2Cpush");
  EXPECT_EQ((TokenKey{"r", "", {}}.form(Credentials{"u", "p", "identity"})),
            "grant_type=refresh_token&refresh_token=identity&client_id=plimsoll");
}

TEST(TokenCache, KeepsByRealmServiceAndScopes) {
  TokenCache cache;
  const TokenKey pull{"r", "s", ScopeSet::parse("repository:a:pull")};
  const TokenKey push{"r", "s", ScopeSet::parse("repository:a:push,pull")};
  const Instant now = kReceived.monotonic;
  cache.put(pull, parsed(R"({"token":"one"})"));
  ASSERT_NE(cache.find(pull, now), nullptr);
  EXPECT_EQ(cache.find(push, now), nullptr);  // C31: another scope is another token
  EXPECT_EQ(cache.find({"other", "s", pull.scopes}, now), nullptr);
  EXPECT_EQ(cache.find({"r", "other", pull.scopes}, now), nullptr);
  cache.put(push, parsed(R"({"token":"two"})"));
  EXPECT_EQ(cache.find({"r", "s", ScopeSet::parse("repository:a:pull repository:a:push")}, now)->value,
            "two");
  EXPECT_EQ(cache.find(pull, now + seconds(60)), nullptr);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(TokenCache, DropsOnlyTheTokenThatWasRefused) {
  TokenCache cache;
  const TokenKey key{"r", "s", {}};
  cache.put(key, parsed(R"({"token":"new"})"));
  cache.drop(key, "old");
  EXPECT_NE(cache.find(key, kReceived.monotonic), nullptr);
  cache.drop(key, "new");
  EXPECT_EQ(cache.find(key, kReceived.monotonic), nullptr);
}

}  // namespace
}  // namespace plimsoll::oci
