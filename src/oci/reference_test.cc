#include "oci/reference.h"

#include <gtest/gtest.h>

namespace plimsoll::oci {
namespace {

const std::string kHex(64, 'a');
const std::string kDigest = "sha256:" + kHex;

TEST(RepositoryName, FollowsTheGrammar) {
  for (const auto* name :
       {"a", "a/b", "library/redis", "a.b", "a_b", "a__b", "a-b", "a---b", "0/1/2", "a-b_c.d/e"}) {
    EXPECT_TRUE(is_repository_name(name)) << name;
  }
  for (const auto* name :
       {"",   "/",  "a/", "/a", "a//b", "A",   "a/B", "a..b",  "a___b",    "a._b", "-a",  "a-",
        "_a", "a_", ".a", "a.", "a b",  "a:b", "a@b", "a%2fb", "\xc3\xa9", "a-_b", "../a"}) {
    EXPECT_FALSE(is_repository_name(name)) << name;
  }
}

TEST(RepositoryName, IsBounded) {
  EXPECT_TRUE(is_repository_name(std::string(255, 'a')));
  EXPECT_FALSE(is_repository_name(std::string(256, 'a')));
  EXPECT_TRUE(fits_with_host("host", std::string(250, 'a')));
  EXPECT_FALSE(fits_with_host("host", std::string(251, 'a')));
}

TEST(RepositoryName, C39RefusalNamesTheForm) {
  EXPECT_FALSE(refuse_repository_name("team/app"));
  const auto refusal = refuse_repository_name("Team/App");
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message.find("'Team/App'"), std::string::npos);
  EXPECT_NE(refusal->message.find("a-z and 0-9"), std::string::npos);
  EXPECT_NE(refuse_repository_name(std::string(300, 'a'))->message.find("255"), std::string::npos);
}

TEST(Tag, FollowsTheGrammar) {
  for (const auto* tag : {"latest", "_", "A", "1.2.3-rc_1", "v1..2"}) EXPECT_TRUE(is_tag(tag)) << tag;
  for (const auto* tag : {"", ".a", "-a", "a:b", "a/b", "a b", "a+b"}) EXPECT_FALSE(is_tag(tag)) << tag;
  EXPECT_TRUE(is_tag(std::string(128, 'x')));
  EXPECT_FALSE(is_tag(std::string(129, 'x')));
}

TEST(ManifestReference, IsATagOrADigest) {
  EXPECT_TRUE(is_manifest_reference("latest"));
  EXPECT_TRUE(is_manifest_reference(kDigest));
  EXPECT_TRUE(is_manifest_reference("blake3:" + kHex));
  EXPECT_FALSE(is_manifest_reference("sha256:short"));
  EXPECT_FALSE(is_manifest_reference("a/b"));
}

struct Case {
  std::string text, host, repository, tag, manifest_reference;
};

TEST(Reference, Parses) {
  const Case cases[] = {
      {"redis", "", "redis", "", "latest"},
      {"redis:7", "", "redis", "7", "7"},
      {"team/app", "", "team/app", "", "latest"},
      {"localhost/app:1", "localhost", "app", "1", "1"},
      {"localhost:5000/app", "localhost:5000", "app", "", "latest"},
      {"ghcr.io/a/b/c:tag", "ghcr.io", "a/b/c", "tag", "tag"},
      {"[::1]:5000/app:x", "[::1]:5000", "app", "x", "x"},
      {"[fe80::1]/app", "[fe80::1]", "app", "", "latest"},
      {"10.0.0.1/app@" + kDigest, "10.0.0.1", "app", "", kDigest},
      {"host.example/app:x@" + kDigest, "host.example", "app", "x", kDigest},
      {"HOST/app", "HOST", "app", "", "latest"},
  };
  for (const auto& expected : cases) {
    const auto reference = Reference::parse(expected.text);
    ASSERT_TRUE(reference) << expected.text << ": " << reference.error().message;
    EXPECT_EQ(reference->host, expected.host) << expected.text;
    EXPECT_EQ(reference->repository, expected.repository) << expected.text;
    EXPECT_EQ(reference->tag, expected.tag) << expected.text;
    EXPECT_EQ(reference->manifest_reference(), expected.manifest_reference) << expected.text;
    EXPECT_EQ(reference->text(), expected.text);
  }
}

TEST(Reference, RefusesInOneLine) {
  for (const auto& text :
       {std::string(), std::string("Redis"), std::string("a:b:c"), std::string("app@latest"),
        "app@" + kDigest + "0", "app@blake3:" + kHex, std::string("host:0/app"),
        std::string("host:70000/app"), std::string("host:x/app"), std::string("[::1/app"),
        std::string("[]/app"), std::string("[::1]x/app"), std::string("host.example/"),
        std::string("host.example/a//b"), std::string("app:"), std::string("https://host.example/app"),
        "host.example/" + std::string(250, 'a')}) {
    const auto reference = Reference::parse(text);
    ASSERT_FALSE(reference) << text;
    EXPECT_EQ(reference.error().message.find('\n'), std::string::npos);
    EXPECT_FALSE(reference.error().message.empty());
  }
}

TEST(Reference, KnowsDockerHubsNames) {
  EXPECT_EQ(with_docker_hub_names(*Reference::parse("redis:7")).text(),
            "registry-1.docker.io/library/redis:7");
  EXPECT_EQ(with_docker_hub_names(*Reference::parse("docker.io/a/b")).text(), "registry-1.docker.io/a/b");
  EXPECT_EQ(with_docker_hub_names(*Reference::parse("ghcr.io/redis")).text(), "ghcr.io/redis");
}

TEST(ReferrersTag, CutsLongDigests) {
  EXPECT_EQ(referrers_tag(Digest::of("")),
            "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const auto tag = referrers_tag(Digest::of("", DigestAlgorithm::sha512));
  EXPECT_EQ(tag.size(), 7 + 64U);
  EXPECT_TRUE(is_tag(tag));
}

}  // namespace
}  // namespace plimsoll::oci
