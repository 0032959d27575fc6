#include "http/request_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll::http {
namespace {

struct Parsed {
  int fault = -1;  // -1: none
  std::string text;
  bool done = false;
  bool http2 = false;
  std::string line;    // method, path, query, authority
  std::string fields;  // and their values
  std::string body;
  std::size_t consumed = 0;
  std::uint64_t wire_bytes = 0;

  friend bool operator==(const Parsed&, const Parsed&) = default;
};

void note_head(const RequestHead& head, Parsed& parsed) {
  parsed.line.append(head.method_text).append(" ").append(head.path);
  if (head.query) parsed.line.append(" ?").append(*head.query);
  parsed.line.append(" @").append(head.authority);
  if (head.keep_alive) parsed.line.append(" keep-alive");
  if (head.expect_continue) parsed.line.append(" expects");
  for (const auto& [name, value] : head.headers)
    parsed.fields.append(name).append("=").append(value).append(";");
}

void feed(RequestParser& parser, std::string_view piece, Parsed& parsed) {
  while (!piece.empty() && !parser.done() && parsed.fault < 0 && !parsed.http2) {
    const auto step = parser.feed(piece);
    if (!step) {
      parsed.fault = step.error().status;
      parsed.text = step.error().text;
      return;
    }
    if (step->head) note_head(parser.head(), parsed);
    parsed.body += step->body;
    parsed.consumed += step->consumed;
    parsed.http2 = parser.http2();
    piece.remove_prefix(step->consumed);
  }
}

Parsed parse_in(const std::vector<std::string_view>& pieces) {
  RequestParser parser;
  parser.start();
  Parsed parsed;
  for (const auto piece : pieces) feed(parser, piece, parsed);
  parsed.done = parser.done();
  parsed.wire_bytes = parser.wire_bytes();
  return parsed;
}

// In one piece, one byte at a time, and in two pieces split at every position: always the same request.
Parsed parse(std::string_view wire) {
  const Parsed whole = parse_in({wire});
  const auto same = [&](const Parsed& other) {
    return whole.fault >= 0 ? other.fault == whole.fault && other.text == whole.text : other == whole;
  };
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < wire.size(); ++i) bytes.push_back(wire.substr(i, 1));
  EXPECT_TRUE(same(parse_in(bytes))) << wire;
  for (std::size_t i = 1; i < wire.size(); ++i) {
    EXPECT_TRUE(same(parse_in({wire.substr(0, i), wire.substr(i)}))) << wire << "\nsplit at " << i;
  }
  return whole;
}

int fault_of(std::string_view wire) {
  const Parsed parsed = parse(wire);
  if (parsed.fault >= 0) EXPECT_NE(parsed.text, "");
  return parsed.fault;
}

TEST(RequestParser, ReadsHeadAndBody) {
  const std::string wire =
      "PUT /v2/r/blobs/uploads/u?_state=a%2Bb&digest=sha256:ab HTTP/1.1\r\nHost: h:5000\r\nContent-Length: "
      "5\r\n"
      "X-Empty:\r\n\r\nhelloGET";
  const Parsed parsed = parse(wire);
  EXPECT_EQ(parsed.fault, -1) << parsed.text;
  EXPECT_TRUE(parsed.done);
  EXPECT_EQ(parsed.line, "PUT /v2/r/blobs/uploads/u ?_state=a%2Bb&digest=sha256:ab @h:5000 keep-alive");
  EXPECT_EQ(parsed.fields, "Host=h:5000;Content-Length=5;X-Empty=;");
  EXPECT_EQ(parsed.body, "hello");
  EXPECT_EQ(parsed.consumed, wire.size() - 3);
  EXPECT_EQ(parsed.wire_bytes, wire.size() - 3);
}

TEST(RequestParser, PipelinedRequestsComeOneByOne) {
  RequestParser parser;
  std::string_view wire =
      "GET /a HTTP/1.1\r\nHost: h\r\n\r\nPOST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1;x\r\nb\r\n0\r\nT: x\r\n\r\n\r\nXYZZY /c HTTP/1.0\r\n\r\n";
  for (const char* expected : {"GET /a @h keep-alive", "POST /b @h keep-alive", "XYZZY /c @"}) {
    parser.start();
    EXPECT_TRUE(parser.untouched());
    const auto step = parser.feed(wire);
    ASSERT_TRUE(step) << step.error().text;
    Parsed parsed;
    note_head(parser.head(), parsed);
    EXPECT_EQ(parsed.line, expected);
    EXPECT_TRUE(step->done);
    wire.remove_prefix(step->consumed);
  }
  EXPECT_EQ(parser.head().method, Method::other);
  EXPECT_TRUE(wire.empty());
}

TEST(RequestParser, EmptyLinesBeforeARequestAreIgnored) {
  EXPECT_EQ(parse("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").line, "GET / @h keep-alive");
  std::string endless;
  for (int i = 0; i < 40'000; ++i) endless += "\r\n";
  EXPECT_EQ(parse_in({endless}).fault, 414);
}

TEST(RequestParser, TargetForms) {
  const auto line = [](const char* request_line, const char* host = "h") {
    return parse(std::string(request_line) + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n").line;
  };
  EXPECT_EQ(line("OPTIONS *"), "OPTIONS * @h keep-alive");
  EXPECT_EQ(line("GET /?"), "GET / ? @h keep-alive");
  EXPECT_EQ(line("GET //x/../y?a?b"), "GET //x/../y ?a?b @h keep-alive");
  EXPECT_EQ(line("GET http://other:81/x?y"), "GET /x ?y @other:81 keep-alive") << "overrides Host";
  EXPECT_EQ(line("GET HTTPS://other"), "GET / @other keep-alive");
  EXPECT_EQ(line("GET http://[::1]:81?q"), "GET / ?q @[::1]:81 keep-alive");
  EXPECT_EQ(line("GET /\xc3\xa4"), "GET /\xc3\xa4 @h keep-alive");
  EXPECT_EQ(line("GET /", "[::1]:5000"), "GET / @[::1]:5000 keep-alive");
  EXPECT_EQ(line("GET /", ""), "GET / @ keep-alive") << "empty is what a client without an authority sends";
}

TEST(RequestParser, KeepAlive) {
  const auto keeps = [](const char* version, const char* fields) {
    return parse(std::string("GET / ") + version + "\r\nHost: h\r\n" + fields + "\r\n")
        .line.ends_with("keep-alive");
  };
  EXPECT_TRUE(keeps("HTTP/1.1", ""));
  EXPECT_TRUE(keeps("HTTP/1.2", ""));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: te, Close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", ""));
  EXPECT_TRUE(keeps("HTTP/1.0", "Connection: Keep-Alive\r\n"));
}

TEST(RequestParser, Trap23_ExpectationsAreFlagged) {
  const auto expecting = [](const char* version, const char* fields) {
    return parse(std::string("PUT / ") + version + "\r\nHost: h\r\nExpect: 100-Continue\r\n" + fields +
                 "\r\n")
        .line;
  };
  EXPECT_EQ(expecting("HTTP/1.1", "Content-Length: 5\r\n"), "PUT / @h keep-alive expects");
  EXPECT_EQ(expecting("HTTP/1.1", "Transfer-Encoding: chunked\r\n"), "PUT / @h keep-alive expects");
  EXPECT_EQ(expecting("HTTP/1.1", "Content-Length: 0\r\n"), "PUT / @h keep-alive") << "no body to wait with";
  EXPECT_EQ(expecting("HTTP/1.0", "Content-Length: 5\r\n"), "PUT / @h");
  EXPECT_EQ(fault_of("PUT / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n"), 417);
}

TEST(RequestParser, MalformedRequestLines) {
  const std::vector<std::pair<int, std::string_view>> lines = {{400, "GET /\r\n"},
                                                               {400, "GET\r\n"},
                                                               {400, " GET / HTTP/1.1\r\n"},
                                                               {400, "GET  / HTTP/1.1\r\n"},
                                                               {400, "GET /  HTTP/1.1\r\n"},
                                                               {400, "GET / HTTP/1.1 \r\n"},
                                                               {400, "GET /a b HTTP/1.1\r\n"},
                                                               {400, "GET\t/ HTTP/1.1\r\n"},
                                                               {400, "GET /\ta HTTP/1.1\r\n"},
                                                               {400, "GET / http/1.1\r\n"},
                                                               {400, "GET / HTTP/1\r\n"},
                                                               {400, "GET / HTTP/1.10\r\n"},
                                                               {400, "GET / HTTP/x.1\r\n"},
                                                               {400, "GET / HTTP/11\r\n"},
                                                               {505, "GET / HTTP/2.0\r\n"},
                                                               {505, "GET / HTTP/0.9\r\n"},
                                                               {505, "GET / HTTP/3.0\r\n"},
                                                               {400, "G(T / HTTP/1.1\r\n"},
                                                               {400, "GET x HTTP/1.1\r\n"},
                                                               {400, "GET * HTTP/1.1\r\n"},
                                                               {400, "OPTIONS *x HTTP/1.1\r\n"},
                                                               {400, "GET /#f HTTP/1.1\r\n"},
                                                               {400, "GET ftp://h/ HTTP/1.1\r\n"},
                                                               {400, "GET http:/h/ HTTP/1.1\r\n"},
                                                               {400, "GET http:///x HTTP/1.1\r\n"},
                                                               {400, "GET http://u@h/ HTTP/1.1\r\n"},
                                                               {400, "GET http://h:x/ HTTP/1.1\r\n"},
                                                               {400, "GET http://h[/ HTTP/1.1\r\n"},
                                                               {400, "GET h:80 HTTP/1.1\r\n"},
                                                               {501, "CONNECT h:80 HTTP/1.1\r\n"},
                                                               {501, "CONNECT / HTTP/1.1\r\n"},
                                                               {400, "GET /\x7f HTTP/1.1\r\n"},
                                                               {400, "GET / HTTP/1.1\n"},
                                                               {400, "GET /\r HTTP/1.1\r\n"},
                                                               {400, "{\"json\": true}\r\n"}};
  for (const auto& [status, line] : lines) {
    EXPECT_EQ(fault_of(std::string(line) + "Host: h\r\n\r\n"), status) << line;
  }
  EXPECT_EQ(fault_of(std::string_view("GET /\0 HTTP/1.1\r\n", 17)), 400);
}

TEST(RequestParser, MalformedFields) {
  for (const std::string_view fields :
       {"A : b\r\n", " A: b\r\n", "A: b\r\n c\r\n", "A: b\r\n\tc\r\n", ": b\r\n", "A\r\n", "A b: c\r\n",
        "A: b\n", "A: b\rc\r\n", "A: \x01\r\n", "A: \x7f\r\n", "\xff: b\r\n", "A\": b\r\n",
        "Transfer-Encoding : chunked\r\n", "Content-Length: 5\r\n : x\r\n"}) {
    EXPECT_EQ(fault_of(std::string("GET / HTTP/1.1\r\nHost: h\r\n").append(fields).append("\r\n")), 400)
        << fields;
  }
  EXPECT_EQ(fault_of(std::string("GET / HTTP/1.1\r\nHost: h\r\nA: b") + '\0' + "\r\n\r\n"), 400);
}

TEST(RequestParser, ExactlyOneHost) {
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(fault_of("GET http://h/ HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(fault_of("GET / HTTP/1.0\r\n\r\n"), -1);
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\nHost: h\r\nhOST: h\r\n\r\n"), 400);
  EXPECT_EQ(fault_of("GET / HTTP/1.0\r\nHost: h\r\nHost: h\r\n\r\n"), 400);
  for (const char* host :
       {"a b", "a/b", "u@h", "h:x", "h:1:2", "[::1", "[]", "[::1]x", "[g::]", "h?", "h#", "a,b c", "\\"}) {
    EXPECT_EQ(fault_of(std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n\r\n"), 400) << host;
  }
}

TEST(RequestParser, AmbiguousFramingIsRefused) {
  const std::vector<std::pair<int, std::string_view>> cases = {
      {400, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"},
      {400, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"},
      {400, "Content-Length: 5\r\nContent-Length: 5\r\n"},
      {400, "Content-Length: 5, 5\r\n"},
      {400, "Content-Length: , 5\r\n"},
      {400, "Content-Length: 5\r\nContent-Length: 6\r\n"},
      {400, "Content-Length:\r\n"},
      {400, "Content-Length: -1\r\n"},
      {400, "Content-Length: +1\r\n"},
      {400, "Content-Length: 0x1\r\n"},
      {400, "Content-Length: 1 1\r\n"},
      {400, "Content-Length: 18446744073709551616\r\n"},
      {400, "Transfer-Encoding:\r\n"},
      {400, "Transfer-Encoding: gzip\r\n"},
      {400, "Transfer-Encoding: identity\r\n"},
      {400, "Transfer-Encoding: chunked, gzip\r\n"},
      {400, "Transfer-Encoding: chunked, chunked\r\n"},
      {400, "Transfer-Encoding: chunked, gzip, chunked\r\n"},
      {400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
      {400, "Transfer-Encoding: xchunked\r\n"},
      {400, "Transfer-Encoding: chunked;a=b\r\n"},
      {400, "Transfer-Encoding: \"chunked\"\r\n"},
      {501, "Transfer-Encoding: gzip, chunked\r\n"},
      {501, "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"},
      {-1, "Transfer-Encoding: CHUNKED\r\n"},
      {-1, "Content-Length: 5\r\n"},
  };
  for (const auto& [status, fields] : cases) {
    EXPECT_EQ(fault_of(std::string("POST / HTTP/1.1\r\nHost: h\r\n").append(fields).append("\r\n")), status)
        << fields;
  }
  EXPECT_EQ(fault_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(RequestParser, WithoutFramingFieldsThereIsNoBody) {
  const Parsed parsed = parse("POST / HTTP/1.1\r\nHost: h\r\n\r\nhello");
  EXPECT_TRUE(parsed.done);
  EXPECT_EQ(parsed.body, "");
}

TEST(RequestParser, MalformedChunks) {
  for (const std::string_view body :
       {"\r\n", "g\r\n", "-1\r\n", "0x1\r\n", "5\n", "5\r\nhello!", "5\r\nhello\n", "11111111111111111\r\n",
        "0\r\nA\r\n", "0\r\n\n", "5;\x01\r\n"}) {
    EXPECT_EQ(
        fault_of(
            std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n").append(body)),
        400)
        << body;
  }
}

TEST(RequestParser, WhatIsTooLargeIsRefusedByItsName) {
  const RequestLimits limits{.head = {.max_bytes = 2000, .max_fields = 5}, .max_target = 100};
  const auto fault = [&](const std::string& wire) {
    RequestParser parser(limits);
    parser.start();
    const auto step = parser.feed(wire);
    return step ? -1 : step.error().status;
  };
  EXPECT_EQ(fault("GET /" + std::string(99, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n"), -1);
  EXPECT_EQ(fault("GET /" + std::string(100, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n"), 414);
  EXPECT_EQ(fault("GET /" + std::string(3000, 'a')), 414);
  EXPECT_EQ(fault("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'a')), 431);
  EXPECT_EQ(fault("GET / HTTP/1.1\r\nHost: h\r\na:\r\na:\r\na:\r\na:\r\n\r\n"), -1);
  EXPECT_EQ(fault("GET / HTTP/1.1\r\nHost: h\r\na:\r\na:\r\na:\r\na:\r\na:\r\n\r\n"), 431);
}

TEST(RequestParser, TheHttp2PrefaceIsRecognised) {
  const std::string wire = std::string(kHttp2Preface) + std::string("\0\0\0\4\0\0\0\0\0", 9);
  const Parsed parsed = parse(wire);
  EXPECT_TRUE(parsed.http2);
  EXPECT_FALSE(parsed.done);
  EXPECT_EQ(parsed.consumed, kHttp2Preface.size());
  EXPECT_EQ(fault_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\rx"), 400);
  EXPECT_EQ(fault_of("\r\n" + wire), 505) << "its first bytes, to the letter";
  EXPECT_EQ(fault_of("PRI * HTTP/2.0\r\nHost: h\r\n\r\n"), 505);

  RequestParser parser;
  parser.start();
  ASSERT_TRUE(parser.feed(wire));
  ASSERT_FALSE(parser.feed(std::string_view("\0", 1))) << "an h2 session is not HTTP/1";

  RequestParser second;
  second.start();
  ASSERT_TRUE(second.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  second.start();
  EXPECT_FALSE(second.feed(wire)) << "only at the start of a connection";
  EXPECT_FALSE(second.http2());
}

TEST(RequestParser, ATlsHandshakeIsNotAnswered) {
  EXPECT_EQ(fault_of(std::string_view("\x16\x03\x01\x02\x00\x01", 6)), 0);
}

TEST(RequestParser, AFaultStays) {
  RequestParser parser;
  parser.start();
  ASSERT_FALSE(parser.feed("GET / HTTP/1.1\n"));
  parser.start();
  EXPECT_FALSE(parser.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
}

}  // namespace
}  // namespace plimsoll::http
