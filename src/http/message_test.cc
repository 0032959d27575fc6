#include "http/message.h"

#include <gtest/gtest.h>

#include "http/chars.h"

namespace plimsoll::http {
namespace {

TEST(Message, MethodsRoundTrip) {
  for (const char* text : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}) {
    EXPECT_EQ(name(parse_method(text)), text);
  }
  EXPECT_EQ(parse_method("get"), Method::other);
  EXPECT_EQ(parse_method(""), Method::other);
}

TEST(Message, HeadersAreFoundWhateverTheirCase) {
  Headers headers;
  headers.add("Accept", "a, b");
  headers.add("Content-Type", "");
  headers.add("ACCEPT", "c ,, D");
  EXPECT_EQ(headers.find("accept"), "a, b");
  EXPECT_EQ(headers.find("content-type"), "");
  EXPECT_EQ(headers.find("content"), std::nullopt);
  EXPECT_EQ(headers.find_all("Accept"), (std::vector<std::string_view>{"a, b", "c ,, D"}));
  EXPECT_TRUE(headers.list_contains("accept", "d"));
  EXPECT_FALSE(headers.list_contains("accept", "e"));
  EXPECT_FALSE(headers.list_contains("accept", ""));
  headers.clear();
  EXPECT_TRUE(headers.empty());
}

TEST(Message, TokensAndFieldValues) {
  EXPECT_TRUE(is_token("x-!#$%&'*+.^_`|~09AZ"));
  for (const char* bad : {"", "a b", "a:", "\"a\"", "a(", "\x7f", "\xc3\xa4"})
    EXPECT_FALSE(is_token(bad)) << bad;
  EXPECT_TRUE(is_field_value("\ta b \xc3\xa4"));
  // The blocks of sixteen and the rest after them.
  for (std::size_t size = 1; size < 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      for (const char bad : {'\0', '\r', '\n', '\x1f', '\x7f'}) {
        text[at] = bad;
        EXPECT_FALSE(is_field_value(text)) << size << " " << at;
      }
      for (const char good : {'\t', ' ', '~', '\x80', '\xff'}) {
        text[at] = good;
        EXPECT_TRUE(is_field_value(text)) << size << " " << at;
      }
    }
  }
}

// Against the table, for every character at every place, within blocks of sixteen and after them.
TEST(Message, TokensEndWhereTheTableSays) {
  for (std::size_t size = 1; size < 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      for (int c = 0; c < 256; ++c) {
        text[at] = static_cast<char>(c);
        const auto length = find_token_end(text.data(), text.data() + size) - text.data();
        ASSERT_EQ(length, static_cast<std::ptrdiff_t>(is_token_char(text[at]) ? size : at))
            << c << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::http
