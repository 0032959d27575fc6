#include "http/render.h"

#include <gtest/gtest.h>

#include <array>

#include "http/request_parser.h"
#include "http/response_parser.h"

namespace plimsoll::http {
namespace {

TEST(Render, WritesARequest) {
  const std::array<HeaderView, 2> fields = {{{"Accept", "*/*"}, {"X-Empty", ""}}};
  std::string out = "before|";
  ASSERT_TRUE(render_request(out, {.target = "/v2/?a=b", .host = "[::1]:5000", .headers = fields}));
  EXPECT_EQ(out, "before|GET /v2/?a=b HTTP/1.1\r\nHost: [::1]:5000\r\nAccept: */*\r\nX-Empty: \r\n\r\n");
  out.clear();
  ASSERT_TRUE(render_request(out, {.method = "PUT", .host = "h", .headers = {}, .content_length = 0}));
  EXPECT_EQ(out, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  out.clear();
  ASSERT_TRUE(render_request(out, {.method = "PATCH", .host = "h", .headers = {}, .chunked = true}));
  EXPECT_EQ(out, "PATCH / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(Render, AHostOfTheUserReplacesOurs) {
  const std::array<HeaderView, 1> fields = {{{"hOsT", "virtual"}}};
  std::string out;
  ASSERT_TRUE(render_request(out, {.host = "h", .headers = fields}));
  EXPECT_EQ(out, "GET / HTTP/1.1\r\nhOsT: virtual\r\n\r\n");
}

TEST(Render, WritesAResponse) {
  const std::array<HeaderView, 1> fields = {{{"Location", "/v2/"}}};
  std::string out;
  ASSERT_TRUE(render_response(out, {.status = 202, .headers = fields, .content_length = 0}));
  EXPECT_EQ(out, "HTTP/1.1 202 Accepted\r\nLocation: /v2/\r\nContent-Length: 0\r\n\r\n");
  out.clear();
  ASSERT_TRUE(render_response(out, {.status = 299, .headers = {}, .chunked = true, .close = true}));
  EXPECT_EQ(out, "HTTP/1.1 299 \r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
  out.clear();
  ASSERT_TRUE(render_response(out, {.reason = "Fine", .headers = {}, .keep_alive = true}));
  EXPECT_EQ(out, "HTTP/1.1 200 Fine\r\nConnection: keep-alive\r\n\r\n");
}

TEST(Render, ChunksAreWhatTheParserReads) {
  std::string out;
  ASSERT_TRUE(render_response(out, {.headers = {}, .chunked = true}));
  append_chunk_head(out, 26);
  out.append("abcdefghijklmnopqrstuvwxyz").append(kChunkEnd).append(kLastChunk);
  EXPECT_NE(out.find("\r\n\r\n1a\r\nabc"), std::string::npos);
  ResponseParser parser;
  parser.start(Method::get);
  const auto step = parser.feed(out);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->body, "abcdefghijklmnopqrstuvwxyz");
  EXPECT_TRUE(step->done);
  EXPECT_EQ(step->consumed, out.size());
}

TEST(Render, RefusesWhatCouldEndALine) {
  std::string out = "kept";
  for (const std::string_view bad :
       {std::string_view("a\r\nX: y"), std::string_view("a\nb"), std::string_view("a\rb"),
        std::string_view("a\0b", 3), std::string_view("\x7f")}) {
    const std::array<HeaderView, 1> value = {{{"A", bad}}};
    const std::array<HeaderView, 1> name = {{{bad, "b"}}};
    EXPECT_FALSE(render_request(out, {.host = "h", .headers = value}));
    EXPECT_FALSE(render_request(out, {.host = "h", .headers = name}));
    EXPECT_FALSE(render_request(out, {.host = bad, .headers = {}}));
    EXPECT_FALSE(render_request(out, {.target = bad, .host = "h", .headers = {}}));
    EXPECT_FALSE(render_request(out, {.method = bad, .host = "h", .headers = {}}));
    EXPECT_FALSE(render_response(out, {.headers = value}));
    EXPECT_FALSE(render_response(out, {.reason = bad, .headers = {}}));
  }
  for (const std::string_view bad : {"", "A b", "A:", " A"}) {
    const std::array<HeaderView, 1> name = {{{bad, "b"}}};
    EXPECT_FALSE(render_request(out, {.host = "h", .headers = name})) << bad;
  }
  EXPECT_FALSE(render_request(out, {.target = "/a b", .host = "h", .headers = {}}));
  EXPECT_FALSE(render_request(out, {.target = "", .host = "h", .headers = {}}));
  EXPECT_FALSE(render_request(out, {.host = "h", .headers = {}, .content_length = 1, .chunked = true}));
  EXPECT_FALSE(render_response(out, {.status = 99, .headers = {}}));
  EXPECT_FALSE(render_response(out, {.status = 1000, .headers = {}}));
  EXPECT_EQ(out, "kept");
}

}  // namespace
}  // namespace plimsoll::http
