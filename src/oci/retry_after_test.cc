#include "oci/retry_after.h"

#include <gtest/gtest.h>

namespace plimsoll::oci {
namespace {

using std::chrono::seconds;

TEST(RetryAfter, C35SecondsAndDates) {
  EXPECT_EQ(parse_retry_after("5", "", 0), seconds(5));
  EXPECT_EQ(parse_retry_after(" 0 ", "", 0), seconds(0));
  EXPECT_EQ(parse_retry_after("0.5", "", 0), std::chrono::milliseconds(500));
  constexpr std::int64_t kThen = 784'111'777;
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", "", kThen - 7), seconds(7));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT", 5),
            seconds(7));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", "", kThen + 100), seconds(0));
}

TEST(RetryAfter, IsBoundedAndNonsenseIsNone) {
  EXPECT_EQ(parse_retry_after("99999999999", "", 0), kLongestWait);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 2094 08:49:37 GMT", "", 0), kLongestWait);
  for (const auto* text : {"", "soon", "-5", "5 seconds", "Sun, 06 Nov", "Sun, 32 Nov 1994 08:49:37 GMT"}) {
    EXPECT_FALSE(parse_retry_after(text, "", 0)) << text;
  }
}

TEST(HttpDate, ThreeForms) {
  for (const auto* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text), 784'111'777) << text;
  }
  for (const auto* text : {"", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "a b c d",
                           "a b-c d e", "Sun, 31 Feb 1994 08:49:37 GMT"}) {
    EXPECT_FALSE(parse_http_date(text)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::oci
