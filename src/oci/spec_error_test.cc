#include "oci/spec_error.h"

#include <gtest/gtest.h>

namespace plimsoll::oci {
namespace {

TEST(SpecError, ReadsTheSpecifiedForm) {
  const auto error = parse_spec_error(
      R"({"errors":[{"code":"BLOB_UNKNOWN","message":"blob unknown","detail":{"x":[1]}},{"code":"SECOND"}]})");
  EXPECT_TRUE(error.standard);
  EXPECT_EQ(error.code, "BLOB_UNKNOWN");
  EXPECT_EQ(error.text(), "BLOB_UNKNOWN: blob unknown");
  EXPECT_EQ(parse_spec_error(R"({"errors":[{"code":"DENIED"}]})").text(), "DENIED");
  EXPECT_EQ(parse_spec_error(R"({"errors":[{"message":"no"}]})").text(), "no");
}

TEST(SpecError, C35OtherShapesAreReadToo) {
  EXPECT_EQ(parse_spec_error(R"({"details":"incorrect username or password"})").text(),
            "incorrect username or password");
  EXPECT_EQ(parse_spec_error(R"({"message":"slow down"})").text(), "slow down");
  EXPECT_EQ(parse_spec_error(R"({"error":"invalid_scope","error_description":"no such scope"})").text(),
            "invalid_scope: no such scope");
  EXPECT_EQ(parse_spec_error(R"({"error":{"code":"X","message":"y"}})").text(), "X: y");
  EXPECT_EQ(parse_spec_error(R"({"errors":["just text"]})").text(), "just text");
  EXPECT_EQ(parse_spec_error(R"({"errors":"just text"})").text(), "just text");
  EXPECT_EQ(parse_spec_error("<html><head><TITLE>429 Too Many\nRequests</TITLE></head>...").text(),
            "429 Too Many Requests");
  EXPECT_EQ(parse_spec_error("  upstream\r\n\tfailed ").text(), "upstream failed");
  for (const auto* body : {R"({"details":"x"})", "<title>x</title>", "text", R"({"errors":["x"]})"}) {
    EXPECT_FALSE(parse_spec_error(body).standard) << body;
  }
}

TEST(SpecError, NothingSaidIsEmpty) {
  for (const auto* body : {"", "{}", R"({"errors":[]})", R"({"errors":[7]})", R"({"errors":{}})", " \r\n"}) {
    EXPECT_EQ(parse_spec_error(body).text(), "") << body;
  }
}

TEST(SpecError, IsOneBoundedPrintableLine) {
  const auto escape = parse_spec_error("\x1b[31mred\x1b[0m");
  EXPECT_EQ(escape.message, "[31mred [0m");
  std::string accents;
  while (accents.size() < 1000) accents += "\xc3\xa9";
  EXPECT_EQ(parse_spec_error(accents).message.size(), 256U);
  EXPECT_EQ(parse_spec_error("x" + accents).message.size(), 255U);
  EXPECT_EQ(parse_spec_error(std::string(5'000'000, '<')).message.size(), 256U);
  EXPECT_EQ(parse_spec_error(std::string(100'000, '[')).message.size(), 256U);
}

}  // namespace
}  // namespace plimsoll::oci
