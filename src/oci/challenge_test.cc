#include "oci/challenge.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plimsoll::oci {
namespace {

std::vector<Challenge> parsed(std::initializer_list<std::string_view> headers) {
  return parse_challenges(std::vector<std::string_view>(headers));
}

TEST(Challenge, ReadsTheUsualBearer) {
  const auto challenges = parsed(
      {R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push")"});
  ASSERT_EQ(challenges.size(), 1U);
  EXPECT_EQ(challenges[0].scheme, "bearer");
  EXPECT_EQ(challenges[0].parameter("realm"), "https://auth.docker.io/token");
  EXPECT_EQ(challenges[0].parameter("service"), "registry.docker.io");
  EXPECT_EQ(challenges[0].parameter("scope"), "repository:a/b:pull,push");
  EXPECT_EQ(challenges[0].parameter("error"), "");
}

TEST(Challenge, SpellingAndSpacesDoNotMatter) {
  for (const auto header :
       {R"(bearer realm="https://x/t" , service="s")", R"(BEARER  Realm = "https://x/t",SERVICE= s)",
        R"(  Bearer realm=https://x/t,service=s)", R"(, ,Bearer realm="https:\/\/x/t",,service="s",)",
        "Bearer\trealm=\"https://x/t\",\tservice=\"s\""}) {
    const auto challenges = parsed({header});
    ASSERT_EQ(challenges.size(), 1U) << header;
    EXPECT_EQ(challenges[0].scheme, "bearer") << header;
    EXPECT_EQ(challenges[0].parameter("realm"), "https://x/t") << header;
    EXPECT_EQ(challenges[0].parameter("service"), "s") << header;
  }
}

TEST(Challenge, C27AnyArrangementOfSeveral) {
  const std::vector<std::vector<std::string_view>> arrangements = {
      {R"(Basic realm="a, b", Bearer realm="https://x/t",service="s")"},
      {R"(Bearer realm="https://x/t",service="s", Basic realm="a, b")"},
      {R"(Basic realm="a, b")", R"(Bearer realm="https://x/t",service="s")"},
      {"Negotiate", R"(Bearer realm="https://x/t",service="s",Basic realm="a, b")"},
      {R"(Negotiate YII/+==, Bearer realm="https://x/t", service="s", Basic realm=x)"},
      {R"(Digest realm="r", nonce="n==", qop="auth,auth-int", bearer realm="https://x/t",service=s, NTLM)"},
      {"Negotiate, NTLM, Basic realm=x, Bearer realm=https://x/t,service=s"},
      {R"(Bearer, Bearer realm="https://x/t",service="s")"},
  };
  for (const auto& headers : arrangements) {
    const auto challenges = parse_challenges(headers);
    const auto* chosen = choose_challenge(challenges);
    ASSERT_NE(chosen, nullptr) << headers[0];
    EXPECT_EQ(chosen->scheme, "bearer") << headers[0];
    EXPECT_EQ(chosen->parameter("realm"), "https://x/t") << headers[0];
    EXPECT_EQ(chosen->parameter("service"), "s") << headers[0];
  }
}

// All orders of up to four challenges, in one field, in a field each, and cut into two fields anywhere.
TEST(Challenge, C27EveryOrderAndEverySplit) {
  std::vector<std::string> kinds = {
      R"(Basic realm="a, b=c")", R"(bearer realm="https://x/t", service="s")",
      "Negotiate YII/+==", R"(Digest realm="r", qop="auth,auth-int", nonce="n==")"};
  std::ranges::sort(kinds);
  int looked = 0;
  do {
    for (std::size_t split = 0; split <= kinds.size(); ++split) {
      std::string fields[2];
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        std::string& field = fields[i < split ? 0 : 1];
        field.append(field.empty() ? "" : ", ").append(kinds[i]);
      }
      const auto challenges = parsed({fields[0], fields[1]});
      EXPECT_EQ(challenges.size(), kinds.size()) << fields[0] << " | " << fields[1];
      const auto* chosen = choose_challenge(challenges);
      ASSERT_NE(chosen, nullptr) << fields[0] << " | " << fields[1];
      EXPECT_EQ(chosen->parameter("realm"), "https://x/t") << fields[0] << " | " << fields[1];
      EXPECT_EQ(chosen->parameter("service"), "s");
      ++looked;
    }
    const std::vector<std::string_view> apart(kinds.begin(), kinds.end());
    const auto challenges = parse_challenges(apart);
    ASSERT_NE(choose_challenge(challenges), nullptr);
    EXPECT_EQ(choose_challenge(challenges)->scheme, "bearer");
  } while (std::ranges::next_permutation(kinds).found);
  EXPECT_EQ(looked, 24 * 5);
}

TEST(Challenge, C27BasicWhereBearerCannotBeAnswered) {
  for (const auto header : {R"(Negotiate, Basic realm="x")", R"(Bearer, Basic realm="x")",
                            R"(Bearer service="s",BASIC realm="x")", R"(basic realm=x)", R"(Basic)",
                            R"(Bearer realm="", basic realm=x)"}) {
    const auto challenges = parsed({header});
    const auto* chosen = choose_challenge(challenges);
    ASSERT_NE(chosen, nullptr) << header;
    EXPECT_EQ(chosen->scheme, "basic") << header;
  }
  EXPECT_EQ(choose_challenge(parsed({"Negotiate", "Digest realm=\"x\""})), nullptr);
  EXPECT_EQ(choose_challenge({}), nullptr);
}

TEST(Challenge, QuotedCommasAndEscapes) {
  const auto challenges = parsed({R"(Basic realm="say \"hi\", Bearer realm=x", charset="UTF-8")"});
  ASSERT_EQ(challenges.size(), 1U);
  EXPECT_EQ(challenges[0].parameter("realm"), R"(say "hi", Bearer realm=x)");
  EXPECT_EQ(challenges[0].parameter("charset"), "UTF-8");
}

TEST(Challenge, UnquotedScopeKeepsItsActions) {
  const auto challenges = parsed(
      {"Bearer "
       "realm=https://x/t,service=host:5000,scope=repository:a/b:pull,push,delete,error=invalid_token"});
  ASSERT_EQ(challenges.size(), 1U);
  EXPECT_EQ(challenges[0].parameter("scope"), "repository:a/b:pull,push,delete");
  EXPECT_EQ(challenges[0].parameter("service"), "host:5000");
  EXPECT_EQ(challenges[0].parameter("error"), "invalid_token");
}

TEST(Challenge, Token68IsNoParameter) {
  const auto challenges = parsed({"Negotiate a87421000492aa874209af8bc028==, Basic realm=\"x\""});
  ASSERT_EQ(challenges.size(), 2U);
  EXPECT_EQ(challenges[0].token68, "a87421000492aa874209af8bc028==");
  EXPECT_TRUE(challenges[0].parameters.empty());
}

TEST(Challenge, NonsenseEndsAndIsBounded) {
  EXPECT_TRUE(parsed({""}).empty());
  EXPECT_TRUE(parsed({" , ,, "}).empty());
  EXPECT_TRUE(parsed({"\"\"\"", "(((,)))", "===="}).empty());
  EXPECT_EQ(parsed({R"(Bearer realm="never closed, Basic)"})[0].parameter("realm"), "never closed, Basic");
  EXPECT_EQ(parsed({R"(Bearer realm="ends in \)"})[0].parameter("realm"), "ends in \\");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "Basic realm=x" + std::to_string(i) + ", ";
  EXPECT_LE(parsed({many}).size(), 16U);
  std::string parameters = "Bearer realm=x";
  for (int i = 0; i < 1000; ++i) parameters += ",p" + std::to_string(i) + "=v";
  EXPECT_LE(parsed({parameters})[0].parameters.size(), 32U);
}

TEST(Challenge, EveryTruncationIsSurvived) {
  constexpr std::string_view kHeader =
      R"(Negotiate abc==, Bearer realm="https://x/t", scope="repository:a:pull,push", Basic realm="\"")";
  for (std::size_t cut = 0; cut <= kHeader.size(); ++cut) {
    const auto challenges = parsed({kHeader.substr(0, cut)});
    EXPECT_LE(challenges.size(), 3U);
    EXPECT_EQ(challenges.empty(), cut == 0);
  }
}

}  // namespace
}  // namespace plimsoll::oci
