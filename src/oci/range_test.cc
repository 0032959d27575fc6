#include "oci/range.h"

#include <gtest/gtest.h>

namespace plimsoll::oci {
namespace {

TEST(UploadRange, EveryFormOfTheField) {
  const UploadRange six{0, 6, false};
  for (const auto* text :
       {"0-5", "bytes=0-5", "Bytes=0-5", " bytes 0-5 ", "bytes 0-5/100", "bytes 0-5/*", "0 - 5"}) {
    EXPECT_EQ(parse_upload_range(text), six) << text;
  }
  EXPECT_EQ(parse_upload_range("5-9"), (UploadRange{5, 10, false}));  // C21: the last chunk alone
}

TEST(UploadRange, C19EmptySessions) {
  const UploadRange nothing{};
  EXPECT_EQ(parse_upload_range("0--1"), nothing);
  EXPECT_EQ(parse_upload_range("bytes=0--1"), nothing);
  const UploadRange perhaps{0, 1, true};
  EXPECT_EQ(parse_upload_range("0-0"), perhaps);
  EXPECT_EQ(parse_upload_range("bytes=0-0"), perhaps);
}

TEST(UploadRange, NonsenseIsNone) {
  for (const auto* text : {"", "bytes", "bytes=", "0", "0-", "-5", "5-2", "a-b", "0-5-6", "0--2", "1--1",
                           "0-5x", "0-18446744073709551615", "0-99999999999999999999", "+0-5", "0-5,7-9"}) {
    EXPECT_FALSE(parse_upload_range(text)) << text;
  }
}

TEST(ContentRange, ReadsAndRefuses) {
  EXPECT_EQ(parse_content_range("bytes 0-5/100"), (ContentRange{0, 6, 100}));
  EXPECT_EQ(parse_content_range("bytes 3-3/*"), (ContentRange{3, 4, std::nullopt}));
  EXPECT_EQ(parse_content_range("bytes */100"), (ContentRange{std::nullopt, 0, 100}));
  for (const auto* text :
       {"", "0-5/100", "bytes 0-5", "bytes 5-2/100", "bytes 0-100/100", "bytes */*", "bytes 0-5/x"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::oci
