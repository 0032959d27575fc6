// Authentication as registries really ask for it. Names are those of the quirks and traps that a test stands for.
#include "oci/authenticator.h"

#include <gtest/gtest.h>

#include "net/scope.h"
#include "oci/registry_test_support.h"

namespace plimsoll::oci {
namespace {

using Authentication = RegistryClientTest;
using Lines = std::vector<std::string>;

const std::string kContent = "0123456789";
const http::TextBody kBody(kContent);
const Digest kDigest = Digest::of(kContent);
const Credentials kMe{"me", "pw", ""};

std::string bearer(const test::ScriptedPeer& tokens, std::string_view more = {}) {
  return fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\",service=\"reg\"{}{}",
                     tokens.authority(), more.empty() ? "" : ",", more);
}

std::string token(std::string_view value, std::string_view more = {}) {
  return answer(200, "Content-Type: application/json", fmt::format(R"({{"token":"{}"{}}})", value, more));
}

TEST_F(Authentication, BasicOnlyAfterAChallengeThenAlways) {
  const test::ScriptedPeer peer(
      answers({answer(401, "WWW-Authenticate: Basic realm=\"r\""), answer(200), answer(200)}));
  RegistryClient& registry = client(peer, {"me", "p:w", ""});
  EXPECT_TRUE(run(registry.ping()));
  EXPECT_TRUE(run(registry.ping()));
  const auto text = peer.received();
  EXPECT_EQ(count(text, "Authorization: Basic bWU6cDp3\r\n"), 2U);
  EXPECT_FALSE(has(text.substr(0, text.find("\r\n\r\n")), "Authorization"));
  EXPECT_EQ(observed.steps, (Lines{"ping GET 401", "ping GET 200", "ping GET 200"}));
  EXPECT_TRUE(observed.notes.empty());
}

TEST_F(Authentication, WrongOrMissingCredentialsAreRefusedOnce) {
  const std::string challenge = answer(401, "WWW-Authenticate: Basic realm=\"r\"");
  for (const auto& who : {kMe, Credentials{}}) {
    const test::ScriptedPeer peer(answers({challenge, challenge, challenge}));
    const auto refused = run(client(peer, who).ping());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), (Error{ErrorKind::unauthorized, 401}));
    EXPECT_EQ(requests(peer).size(), who.anonymous() ? 1U : 2U);
  }
}

TEST_F(Authentication, ChallengeThatNobodyCanAnswerIsUnauthorized) {
  for (const auto* headers : {"", "WWW-Authenticate: Negotiate", "WWW-Authenticate: Bearer"}) {
    const test::ScriptedPeer peer(answers({answer(401, headers), answer(401)}));
    EXPECT_EQ(run(client(peer, kMe).ping()).error().kind, ErrorKind::unauthorized) << headers;
  }
}

TEST_F(Authentication, ChallengeThatOnlyThePingGivesIsFound) {
  const test::ScriptedPeer tokens(answers({token("T1")}));
  const test::ScriptedPeer peer(
      answers({answer(401), answer(401, bearer(tokens)), answer(200, {}, kContent)}));
  EXPECT_TRUE(run(client(peer, kMe).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(requests(tokens), Lines{"GET /token?service=reg&scope=repository%3Aa%3Apull&account=me"});
  EXPECT_EQ(observed.steps, (Lines{"layer GET 401", "ping GET 401", "token 200", "layer GET 200"}));

  const test::ScriptedPeer mute(answers({answer(401), answer(200)}));
  const auto refused = run(client(mute, kMe).get_blob("a", kDigest, 10, BlobRole::layer));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{ErrorKind::unauthorized, 401}));
}

TEST_F(Authentication, TokenIsFetchedAndKept) {
  const test::ScriptedPeer tokens(answers({token("T1")}));
  const test::ScriptedPeer peer(answers({answer(401, bearer(tokens, R"(scope="repository:a:pull")")),
                                         answer(200, {}, kContent), answer(200, {}, kContent)}));
  RegistryClient& registry = client(peer, kMe);
  EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(requests(tokens), Lines{"GET /token?service=reg&scope=repository%3Aa%3Apull&account=me"});
  EXPECT_TRUE(has(tokens.received(), "Authorization: Basic bWU6cHc=\r\n"));
  EXPECT_EQ(count(peer.received(), "Authorization: Bearer T1\r\n"), 2U);
  EXPECT_EQ(observed.steps, (Lines{"layer GET 401", "token 200", "layer GET 200", "layer GET 200"}));
  EXPECT_TRUE(observed.notes.empty());
}

TEST_F(Authentication, AnonymousTokensAreFetchedWithoutCredentials) {
  const test::ScriptedPeer tokens(answers({token("T1")}));
  const test::ScriptedPeer peer(answers({answer(401, bearer(tokens)), answer(200)}));
  EXPECT_TRUE(run(client(peer).ping()));
  EXPECT_EQ(requests(tokens), Lines{"GET /token?service=reg"});
  EXPECT_FALSE(has(tokens.received(), "Authorization"));
}

TEST_F(Authentication, C27EveryArrangementOfChallenges) {
  for (const auto* form :
       {"WWW-Authenticate: Basic realm=\"x, y\", {}", "WWW-Authenticate: {}, Basic realm=\"x\"",
        "WWW-Authenticate: Basic realm=\"x\"|WWW-Authenticate: {}",
        "WWW-Authenticate: Negotiate|WWW-Authenticate: {}"}) {
    const test::ScriptedPeer tokens(answers({token("T1")}));
    const std::string plain = bearer(tokens).substr(std::string("WWW-Authenticate: ").size());
    const test::ScriptedPeer peer(
        answers({answer(401, fmt::format(fmt::runtime(form), plain)), answer(200)}));
    EXPECT_TRUE(run(client(peer, kMe).ping())) << form;
    EXPECT_TRUE(has(peer.received(), "Authorization: Bearer T1\r\n")) << form;
  }
}

TEST_F(Authentication, C31ScopesAddUpAndAreTokensOfTheirOwn) {
  const test::ScriptedPeer tokens(answers({token("PULL"), token("PUSH"), token("MORE")}));
  const test::ScriptedPeer peer(
      answers({answer(401, bearer(tokens, R"(scope="repository:a:pull")")), answer(200, {}, kContent),
               answer(202, "Location: /u"),
               answer(401, bearer(tokens, R"(scope="repository:a:pull,push repository:b:pull")")),
               answer(202, "Location: /u")}));
  RegistryClient& registry = client(peer, kMe);
  EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_TRUE(run(registry.start_upload("a")));  // known to need a token: fetched ahead
  EXPECT_TRUE(run(registry.start_upload("a")));
  EXPECT_EQ(requests(tokens), (Lines{"GET /token?service=reg&scope=repository%3Aa%3Apull&account=me",
                                     "GET /token?service=reg&scope=repository%3Aa%3Apull%2Cpush&account=me",
                                     "GET /token?service=reg&scope=repository%3Aa%3Apull%2Cpush"
                                     "&scope=repository%3Ab%3Apull&account=me"}));
  EXPECT_TRUE(has(peer.received(), "Bearer PULL\r\n"));
  EXPECT_TRUE(has(peer.received(), "Bearer PUSH\r\n"));
  EXPECT_TRUE(has(peer.received(), "Bearer MORE\r\n"));
}

TEST_F(Authentication, MountAsksForBothRepositories) {
  const test::ScriptedPeer tokens(answers({token("T")}));
  const test::ScriptedPeer peer(answers({answer(401, bearer(tokens)), answer(201)}));
  EXPECT_TRUE(run(client(peer).mount("a", kDigest, "b")));
  EXPECT_EQ(requests(tokens),
            Lines{"GET /token?service=reg&scope=repository%3Aa%3Apull%2Cpush&scope=repository%3Ab%3Apull"});
}

TEST_F(Authentication, C29TokenThatEndsDuringAnUploadRepeatsOnlyThatRequest) {
  const test::ScriptedPeer tokens(answers({token("T1"), token("T2")}));
  test::Script script;
  play(script, answer(401, bearer(tokens, R"(scope="repository:a:pull,push")")));
  play(script, answer(202, "Location: /u?s=1"));
  play(script, answer(202, "Location: /u?s=2|Range: 0-9"), kContent.size());
  play(script, answer(401, bearer(tokens, R"(scope="repository:a:pull,push",error="invalid_token")")));
  play(script, answer(201));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer, kMe);
  auto upload = run(registry.start_upload("a"));
  ASSERT_TRUE(upload);
  EXPECT_TRUE(run(registry.stream_blob(*upload, kBody, BlobRole::layer)));
  EXPECT_TRUE(run(registry.finish_upload(*upload, kDigest, BlobRole::layer)));
  EXPECT_EQ(observed.steps, (Lines{"upload POST 401", "token 200", "upload POST 202", "layer PATCH 202",
                                   "layer PUT 401", "token 200", "layer PUT 201"}));
  EXPECT_EQ(observed.count(NoteKind::reauthorized), 1);
}

TEST_F(Authentication, Trap24RepeatedPutCarriesItsWholeBody) {
  const test::ScriptedPeer tokens(answers({token("T1")}));
  test::Script script;
  play(script, answer(401, bearer(tokens)), kContent.size());
  play(script, answer(201), kContent.size());
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer, kMe);
  Upload upload{.repository = "a", .location = *http::parse_url("http://" + peer.authority() + "/u")};
  EXPECT_TRUE(run(registry.put_blob(upload, kBody, kDigest, BlobRole::layer)));
  EXPECT_EQ(count(peer.received(), "\r\n\r\n" + kContent), 2U);
}

TEST_F(Authentication, Trap28ASecond401IsAnError) {
  const test::ScriptedPeer tokens(answers({token("T1"), token("T2"), token("T3")}));
  const std::string challenge = answer(401, bearer(tokens));
  const test::ScriptedPeer peer(answers({challenge, challenge, challenge, challenge}));
  const auto refused = run(client(peer, kMe).ping());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unauthorized);
  EXPECT_EQ(requests(peer).size(), 2U);
  EXPECT_EQ(requests(tokens).size(), 1U);
}

TEST_F(Authentication, TokensAreAskedForByFormWhereGetIsRefused) {
  for (const int status : {400, 401, 404, 405}) {
    test::Script script;
    play(script, answer(status));
    script.expect_head().expect_bytes(
        std::string("grant_type=password&username=me&password=pw&client_id=plimsoll"
                    "&service=reg")
            .size());
    script.send(token("T1"));
    const test::ScriptedPeer tokens(script);
    const test::ScriptedPeer peer(answers({answer(401, bearer(tokens)), answer(200)}));
    EXPECT_TRUE(run(client(peer, kMe).ping())) << status;
    EXPECT_EQ(requests(tokens).at(1), "POST /token");
    EXPECT_TRUE(has(tokens.received(), "Content-Type: application/x-www-form-urlencoded\r\n"));
  }
}

TEST_F(Authentication, IdentityTokensGoByFormAndFallBackToGet) {
  test::Script script;
  script.expect_head();
  script.expect_bytes(
      std::string("grant_type=refresh_token&refresh_token=R&client_id=plimsoll&service=reg").size());
  script.send(answer(404));
  play(script, token("T1"));
  const test::ScriptedPeer tokens(script);
  const test::ScriptedPeer peer(answers({answer(401, bearer(tokens)), answer(200)}));
  EXPECT_TRUE(run(client(peer, {"me", "pw", "R"}).ping()));
  EXPECT_EQ(requests(tokens), (Lines{"POST /token", "GET /token?service=reg&account=me"}));
}

TEST_F(Authentication, TokenFailuresAreOfTheirKindAndSayWhy) {
  struct Case {
    std::string reply;
    ErrorKind kind;
    std::string_view text;
  };
  const Case cases[] = {
      {answer(403, {}, R"({"details":"no such user"})"), ErrorKind::token, "token server: 403 no such user"},
      {answer(500), ErrorKind::token, "token server: 500 "},
      {answer(429), ErrorKind::throttled, "token server: 429 "},
  };
  for (const auto& expected : cases) {
    const test::ScriptedPeer tokens(answers({expected.reply}));
    const test::ScriptedPeer peer(answers({answer(401, bearer(tokens))}));
    RegistryClient& registry = client(peer);
    const auto refused = run(registry.ping());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, expected.kind);
    EXPECT_EQ(registry.detail().text, expected.text);
    EXPECT_EQ(registry.detail().request, fmt::format("GET http://{}/token?service=...", tokens.authority()));
  }
  const test::ScriptedPeer nonsense(answers({answer(200, {}, "<html>")}));
  const test::ScriptedPeer peer(answers({answer(401, bearer(nonsense))}));
  EXPECT_EQ(run(client(peer).ping()).error().kind, ErrorKind::token);
}

TEST_F(Authentication, TokenServerThatIsSilentEndsInTime) {
  test::Script script;
  script.expect_head().silence();
  const test::ScriptedPeer tokens(script);
  const test::ScriptedPeer peer(answers({answer(401, bearer(tokens))}));
  options.base = *http::parse_url("http://" + peer.authority());
  Authenticator impatient(loop(), connectors, options.base, kMe, std::chrono::milliseconds(200));
  RegistryClient registry(loop(), connectors, impatient, options, &observed, nullptr);
  const auto refused = run(registry.ping());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::timeout);
}

TEST_F(Authentication, TokenRedirectsCarryNoCredentialsElsewhere) {
  const test::ScriptedPeer other(answers({token("T1")}));
  const test::ScriptedPeer tokens(answers({answer(307, "Location: http://" + other.authority() + "/t?x=1")}));
  const test::ScriptedPeer peer(answers({answer(401, bearer(tokens)), answer(200)}));
  EXPECT_TRUE(run(client(peer, kMe).ping()));
  EXPECT_TRUE(has(tokens.received(), "Authorization"));
  EXPECT_FALSE(has(other.received(), "Authorization"));
}

TEST_F(Authentication, Trap28OneRenewalForAllWorkers) {
  constexpr int kWorkers = 8;
  const test::ScriptedPeer tokens(std::vector{answers({token("T1")}), answers({token("T2")})});
  std::vector<test::Script> scripts;
  for (int i = 0; i < kWorkers; ++i) scripts.push_back(answers({answer(401, bearer(tokens)), answer(200)}));
  const test::ScriptedPeer peer(scripts);
  client(peer, kMe);
  std::vector<std::unique_ptr<RegistryClient>> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(
        std::make_unique<RegistryClient>(loop(), connectors, *authenticator, options, &observed, nullptr));
  }
  int good = 0;
  loop().run([](std::vector<std::unique_ptr<RegistryClient>>& all, int& ok_count) -> net::Task<void> {
    net::TaskScope scope;
    for (auto& worker : all) {
      scope.spawn([](RegistryClient& registry, int& n) -> net::Task<void> {
        if (co_await registry.ping()) ++n;
      }(*worker, ok_count));
    }
    co_await scope.join();
  }(workers, good));
  EXPECT_EQ(good, kWorkers);
  EXPECT_EQ(requests(tokens).size(), 1U);
}

TEST_F(Authentication, NothingSecretStandsInNotesOrDetails) {
  const test::ScriptedPeer tokens(answers({token("TOKENSECRET"), answer(403, {}, "no")}));
  const test::ScriptedPeer peer(
      answers({answer(401, bearer(tokens)), answer(401, bearer(tokens, R"(error="invalid_token")"))}));
  RegistryClient& registry = client(peer, {"me", "PASSWORDSECRET", ""});
  EXPECT_FALSE(run(registry.ping()));
  std::string all = registry.detail().text + registry.detail().request;
  for (const auto& [kind, detail] : observed.notes) all += detail.text + detail.request;
  EXPECT_FALSE(has(all, "SECRET")) << all;
}

}  // namespace
}  // namespace plimsoll::oci
