#include "base/text.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Text, ComparesWithoutCase) {
  EXPECT_TRUE(iequals("Content-Length", "content-length"));
  EXPECT_FALSE(iequals("Content-Length", "content-lengt"));
  EXPECT_TRUE(istarts_with("Bearer x", "bearer "));
}

TEST(Text, ParsesOnlyPlainNumbers) {
  EXPECT_EQ(parse_u64("18446744073709551615"), 18446744073709551615ULL);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_FALSE(parse_u64(bad)) << bad;
  }
  EXPECT_FALSE(parse_double("inf"));
  EXPECT_FALSE(parse_double("nan"));
}

TEST(Text, Base64RoundTripsEveryLength) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(base64_encode("user:pass"), "dXNlcjpwYXNz");
  EXPECT_FALSE(base64_decode("abc"));
  EXPECT_FALSE(base64_decode("a=bc"));
  EXPECT_FALSE(base64_decode("ab c"));
}

TEST(Text, PercentEncodingKeepsUnreserved) {
  EXPECT_EQ(percent_encode("sha256:a/b~c"), "sha256%3Aa%2Fb~c");
  EXPECT_EQ(percent_decode("sha256%3Aa%2fb"), "sha256:a/b");
  EXPECT_FALSE(percent_decode("%4"));
  EXPECT_FALSE(percent_decode("%zz"));
}

TEST(Text, TrimsAndSplits) {
  EXPECT_EQ(trim(" \t a b\t"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
}

}  // namespace
}  // namespace plimsoll
