#include "oci/digest.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace plimsoll::oci {
namespace {

constexpr const char* kEmpty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string sha256_text(std::string_view encoded) {
  return "sha256:" + std::string(encoded);
}

TEST(Digest, KnownValues) {
  EXPECT_EQ(Digest::of("").text(), kEmpty);
  // The empty descriptor's body of the image specification.
  EXPECT_EQ(Digest::of("{}").text(),
            "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
  EXPECT_EQ(Digest::of("abc", DigestAlgorithm::sha512).text(),
            "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

TEST(Digest, ParsesWhatItWrites) {
  for (const auto algorithm : {DigestAlgorithm::sha256, DigestAlgorithm::sha512}) {
    const Digest digest = Digest::of("plimsoll", algorithm);
    const auto parsed = Digest::parse(digest.text());
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, digest);
    EXPECT_EQ(digest_syntax(digest.text()), DigestSyntax::supported);
  }
}

TEST(Digest, IsStrict) {
  const std::string hex(64, 'a');
  EXPECT_TRUE(Digest::parse(sha256_text(hex)));
  EXPECT_FALSE(Digest::parse(hex));
  EXPECT_FALSE(Digest::parse(sha256_text(hex.substr(1))));
  EXPECT_FALSE(Digest::parse(sha256_text(hex + "a")));
  EXPECT_FALSE(Digest::parse(sha256_text(std::string(64, 'A'))));
  EXPECT_FALSE(Digest::parse(sha256_text(std::string(63, 'a') + "g")));
  EXPECT_FALSE(Digest::parse("SHA256:" + hex));
  EXPECT_FALSE(Digest::parse("sha256%3A" + hex));
  EXPECT_FALSE(Digest::parse("sha256:" + hex + " "));
  EXPECT_FALSE(Digest::parse("sha512:" + hex));
  EXPECT_FALSE(Digest::parse(""));
}

TEST(Digest, TellsUnsupportedFromMalformed) {
  EXPECT_EQ(digest_syntax("blake3:" + std::string(64, '0')), DigestSyntax::unsupported);
  EXPECT_EQ(digest_syntax("multihash+base58:QmRZxt2b1FVZPNqd8hsiykDL3TdBDeTSPX9Kv46HmX4Gx8"),
            DigestSyntax::unsupported);
  EXPECT_EQ(digest_syntax("sha256:short"), DigestSyntax::malformed);
  EXPECT_EQ(digest_syntax("blake3:"), DigestSyntax::malformed);
  EXPECT_EQ(digest_syntax("Blake:00"), DigestSyntax::malformed);
  EXPECT_EQ(digest_syntax("a++b:00"), DigestSyntax::malformed);
  EXPECT_EQ(digest_syntax("+a:00"), DigestSyntax::malformed);
  EXPECT_EQ(digest_syntax("a+:00"), DigestSyntax::malformed);
  EXPECT_EQ(digest_syntax("blake3:00/"), DigestSyntax::malformed);
  EXPECT_EQ(digest_syntax("latest"), DigestSyntax::malformed);
}

TEST(Digest, AlgorithmsDoNotCompareEqual) {
  const std::array<std::uint8_t, 32> zeros{};
  EXPECT_NE(Digest(DigestAlgorithm::sha256, zeros), Digest(DigestAlgorithm::sha512, zeros));
}

TEST(Sha256, CopyGoesOnFromTheSameState) {
  static_assert(std::is_trivially_copyable_v<Sha256>);
  Sha256 prefix;
  prefix.update("shared prefix, ");
  Sha256 first = prefix;
  Sha256 second = prefix;
  first.update("one");
  second.update("two");
  EXPECT_EQ(first.digest(), Digest::of("shared prefix, one"));
  EXPECT_EQ(second.digest(), Digest::of("shared prefix, two"));
  EXPECT_EQ(prefix.digest(), Digest::of("shared prefix, "));
}

TEST(Sha256, DigestLeavesTheStateAlone) {
  Sha256 hash;
  hash.update("a");
  EXPECT_EQ(hash.digest(), Digest::of("a"));
  hash.update("b");
  EXPECT_EQ(hash.digest(), Digest::of("ab"));
}

TEST(DigestVerifier, FollowsTheWantedAlgorithm) {
  const std::string content = "some content that arrives in pieces";
  for (const auto algorithm : {DigestAlgorithm::sha256, DigestAlgorithm::sha512}) {
    for (std::size_t cut = 0; cut <= content.size(); ++cut) {
      DigestVerifier verifier(Digest::of(content, algorithm));
      verifier.update(std::string_view(content).substr(0, cut));
      EXPECT_EQ(verifier.matches(), cut == content.size());
      verifier.update(std::string_view(content).substr(cut));
      EXPECT_TRUE(verifier.matches());
    }
    DigestVerifier verifier(Digest::of(content, algorithm));
    verifier.update(content + "!");
    EXPECT_FALSE(verifier.matches());
  }
}

}  // namespace
}  // namespace plimsoll::oci
