#include "http/response_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace plimsoll::http {
namespace {

// All that one answer came to, as values that can be compared.
struct Answer {
  std::string error;  // empty: none
  ErrorKind kind = ErrorKind::protocol;
  bool done = false;
  int status = 0;
  std::string reason;
  std::string fields;
  std::string body;
  bool keep_alive = false;
  unsigned interim = 0;
  std::uint64_t wire_bytes = 0;
  std::size_t consumed = 0;

  friend bool operator==(const Answer&, const Answer&) = default;
};

// Feeds `wire` in the given pieces, as a connection would, and then closes if `close` says so.
class Exchange {
 public:
  explicit Exchange(Method method = Method::get, bool upgrade = false) { parser_.start(method, upgrade); }

  void begin(Method method) {
    parser_.start(method);
    answer_ = {};
  }

  void feed(std::string_view piece) {
    while (!piece.empty() && !parser_.done() && answer_.error.empty()) {
      const auto step = parser_.feed(piece);
      if (!step) return fail(step.error());
      if (step->head) note_head();
      answer_.body += step->body;
      answer_.consumed += step->consumed;
      EXPECT_EQ(step->done, parser_.done());
      piece.remove_prefix(step->consumed);
    }
  }

  void close() {
    if (!answer_.error.empty()) return;
    if (const auto finished = parser_.finish(); !finished) fail(finished.error());
  }

  Answer answer() {
    answer_.done = parser_.done();
    answer_.interim = parser_.interim();
    answer_.wire_bytes = parser_.wire_bytes();
    if (answer_.error.empty()) EXPECT_EQ(parser_.body_bytes(), answer_.body.size());
    return answer_;
  }

 private:
  void fail(const Error& error) {
    answer_.error = error.text;
    answer_.kind = error.kind;
  }

  void note_head() {
    const ResponseHead& head = parser_.head();
    answer_.status = head.status;
    answer_.reason = head.reason;
    answer_.keep_alive = head.keep_alive;
    for (const auto& [name, value] : head.headers)
      answer_.fields.append(name).append("=").append(value).append(";");
  }

  ResponseParser parser_;
  Answer answer_;
};

enum class End { open, closed };

// In one piece, one byte at a time, and in two pieces split at every position: always the same answer.
Answer answer_to(std::string_view wire, Method method = Method::get, End end = End::open,
                 bool upgrade = false) {
  const auto run = [&](auto&& feed) {
    Exchange exchange(method, upgrade);
    feed(exchange);
    if (end == End::closed) exchange.close();
    return exchange.answer();
  };
  const Answer whole = run([&](Exchange& e) { e.feed(wire); });
  const Answer bytewise = run([&](Exchange& e) {
    for (std::size_t i = 0; i < wire.size(); ++i) e.feed(wire.substr(i, 1));
  });
  const auto same = [&](const Answer& other) {
    // An error is seen where its first wrong byte is; how much was taken before it depends on the pieces.
    if (!whole.error.empty()) return other.error == whole.error && other.kind == whole.kind;
    return other == whole;
  };
  EXPECT_TRUE(same(bytewise)) << wire << "\nwhole: " << whole.error << "\nbytewise: " << bytewise.error;
  for (std::size_t i = 1; i < wire.size(); ++i) {
    const Answer split = run([&](Exchange& e) {
      e.feed(wire.substr(0, i));
      e.feed(wire.substr(i));
    });
    EXPECT_TRUE(same(split)) << wire << "\nsplit at " << i << ": " << split.error;
  }
  return whole;
}

std::string error_of(std::string_view wire, Method method = Method::get) {
  const Answer answer = answer_to(wire, method);
  if (!answer.error.empty()) EXPECT_EQ(answer.kind, ErrorKind::protocol);
  return answer.error;
}

TEST(ResponseParser, ReadsHeadAndBody) {
  const std::string wire =
      "HTTP/1.1 200 OK\r\nServer: nginx/1.22\r\nContent-Length:5\r\nX-Empty:\r\nx-odd: \t a b "
      "\t\r\n\r\nhelloHTTP";
  const Answer answer = answer_to(wire);
  EXPECT_EQ(answer.error, "");
  EXPECT_TRUE(answer.done);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.reason, "OK");
  EXPECT_EQ(answer.fields, "Server=nginx/1.22;Content-Length=5;X-Empty=;x-odd=a b;");
  EXPECT_EQ(answer.body, "hello");
  EXPECT_TRUE(answer.keep_alive);
  EXPECT_EQ(answer.consumed, wire.size() - 4) << "what follows is left to the next message";
  EXPECT_EQ(answer.wire_bytes, wire.size() - 4);
}

TEST(ResponseParser, SmallAnswerIsOneStep) {
  ResponseParser parser;
  parser.start(Method::get);
  const std::string_view wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  const auto step = parser.feed(wire);
  ASSERT_TRUE(step);
  EXPECT_TRUE(step->head);
  EXPECT_EQ(step->body, "abc");
  EXPECT_EQ(step->body.data(), wire.data() + wire.find("abc")) << "no copy";
  EXPECT_TRUE(step->done);
  EXPECT_EQ(step->consumed, wire.size());
}

TEST(ResponseParser, SeveralMessagesOnOneConnection) {
  ResponseParser parser;
  std::string_view wire =
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nbb";
  for (const auto& [status, body] : {std::pair(200, "a"), std::pair(404, "bb")}) {
    parser.start(Method::get);
    EXPECT_TRUE(parser.untouched());
    const auto step = parser.feed(wire);
    ASSERT_TRUE(step);
    EXPECT_EQ(parser.head().status, status);
    EXPECT_EQ(step->body, body);
    EXPECT_TRUE(step->done);
    wire.remove_prefix(step->consumed);
  }
  EXPECT_TRUE(wire.empty());
}

// A head that repeats the last one is not parsed again; nothing of that may show.
TEST(ResponseParser, AWarmParserReadsAsAFreshOne) {
  const std::vector<std::string> wires = {
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: a\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: b\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: b\r\n\r\n",
      "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\nContent-Length: 2\r\n\r\nok",
  };
  Exchange warm;
  for (const auto& [first, second] :
       {std::pair(0, 0), std::pair(0, 1), std::pair(0, 2), std::pair(2, 3), std::pair(3, 3), std::pair(3, 2),
        std::pair(4, 4), std::pair(5, 5), std::pair(0, 6), std::pair(6, 0)}) {
    for (const Method method : {Method::get, Method::head}) {
      for (std::size_t cut = 0; cut < wires[static_cast<std::size_t>(second)].size(); cut += 7) {
        warm.begin(method);
        warm.feed(wires[static_cast<std::size_t>(first)]);
        const std::string_view wire = wires[static_cast<std::size_t>(second)];
        Exchange fresh(method);
        warm.begin(method);
        for (Exchange* exchange : {&fresh, &warm}) {
          exchange->feed(wire.substr(0, cut));
          exchange->feed(wire.substr(cut));
        }
        EXPECT_EQ(warm.answer(), fresh.answer()) << first << ", then " << second << ", cut at " << cut;
      }
    }
  }
}

TEST(ResponseParser, TheReasonMayBeEmpty) {
  for (const char* line : {"HTTP/1.1 200", "HTTP/1.1 200 "}) {
    const Answer answer = answer_to(std::string(line) + "\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(answer.error, "") << line;
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.reason, "");
  }
  EXPECT_EQ(answer_to("HTTP/1.1 999 \xc3\xa4  b\r\nContent-Length: 0\r\n\r\n").reason, "\xc3\xa4  b");
}

TEST(ResponseParser, SkipsContentUnseen) {
  ResponseParser parser;
  parser.start(Method::get);
  EXPECT_EQ(parser.skippable(), 0);
  ASSERT_TRUE(parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(parser.skippable(), 7);
  parser.skip(7);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.body_bytes(), 10);

  parser.start(Method::get);
  ASSERT_TRUE(parser.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nabc"));
  parser.skip(parser.skippable());
  EXPECT_EQ(parser.skippable(), 0);
  ASSERT_TRUE(parser.feed("\r\n0\r\n\r\n"));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.body_bytes(), 10);
}

TEST(ResponseParser, Trap15_Http10ClosesUnlessItSaysKeepAlive) {
  const auto keeps = [](const char* head) {
    return answer_to(std::string(head) + "Content-Length: 0\r\n\r\n").keep_alive;
  };
  EXPECT_FALSE(keeps("HTTP/1.0 200 OK\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.1 200 OK\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nCONNECTION: TE ,, CLOSE\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nConnection: TE\r\nConnection: close\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.1 200 OK\r\nConnection: closed\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.9 200 OK\r\n"));
}

TEST(ResponseParser, Trap16_ACloseBeforeTheFirstByteIsToldFromOneWithin) {
  ResponseParser parser;
  parser.start(Method::get);
  EXPECT_TRUE(parser.untouched());
  const auto before = parser.finish();
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().kind, ErrorKind::closed);

  parser.start(Method::get);
  ASSERT_TRUE(parser.feed("H"));
  EXPECT_FALSE(parser.untouched());
  const auto within = parser.finish();
  ASSERT_FALSE(within);
  EXPECT_EQ(within.error().kind, ErrorKind::closed);

  parser.start(Method::get);
  ASSERT_TRUE(parser.feed("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_FALSE(parser.untouched());
  EXPECT_TRUE(parser.continued());
}

TEST(ResponseParser, Trap17_WithoutALengthTheBodyEndsAtTheClose) {
  const std::string wire = "HTTP/1.1 200 OK\r\n\r\nall of it";
  const Answer open = answer_to(wire);
  EXPECT_FALSE(open.done);
  const Answer closed = answer_to(wire, Method::get, End::closed);
  EXPECT_EQ(closed.error, "");
  EXPECT_TRUE(closed.done);
  EXPECT_EQ(closed.body, "all of it");
  EXPECT_FALSE(closed.keep_alive);
  EXPECT_TRUE(answer_to("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", Method::get, End::closed).done);
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nzz", Method::get, End::closed).body,
            "zz");
}

TEST(ResponseParser, Trap18_ATruncatedBodyIsAShortBody) {
  for (const std::string_view wire :
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n"}) {
    const Answer answer = answer_to(wire, Method::get, End::closed);
    EXPECT_EQ(answer.kind, ErrorKind::short_body) << wire;
    EXPECT_FALSE(answer.done);
  }
}

TEST(ResponseParser, Trap19_NoBodyAfterHead204And304) {
  const char* const fields[] = {"", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"};
  for (const std::string field : fields) {
    for (const auto& [status, method] :
         {std::pair("200 OK", Method::head), std::pair("204 No Content", Method::get),
          std::pair("304 Not Modified", Method::get), std::pair("404 Not Found", Method::head)}) {
      const Answer answer = answer_to(std::string("HTTP/1.1 ") + status + "\r\n" + field + "\r\n", method);
      EXPECT_TRUE(answer.done) << status << field;
      EXPECT_TRUE(answer.keep_alive);
      EXPECT_EQ(answer.body, "");
    }
  }
}

TEST(ResponseParser, ALengthWithoutABodyIsStillSaid) {
  ResponseParser parser;
  parser.start(Method::head);
  ASSERT_TRUE(parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.head().content_length, 12345);
  EXPECT_EQ(parser.head().framing, Framing::none);
}

TEST(ResponseParser, Trap20_ChunkExtensionsAndTrailersAreDropped) {
  const Answer answer = answer_to(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "5;name=\"va;l\"\r\nhello\r\n0006 \t; x\r\n world\r\n1  \r\n!\r\n000;last\r\nETag: "
      "\"x\"\r\nX-Empty:\r\n\r\nHTTP");
  EXPECT_EQ(answer.error, "");
  EXPECT_TRUE(answer.done);
  EXPECT_TRUE(answer.keep_alive);
  EXPECT_EQ(answer.body, "hello world!");
}

TEST(ResponseParser, Trap21_AnyNumberOf1xxIsSkipped) {
  std::string wire;
  for (int i = 0; i < 20; ++i)
    wire += i % 2 == 0 ? "HTTP/1.1 100 Continue\r\n\r\n" : "HTTP/1.1 103 Hints\r\nLink: <x>\r\n\r\n";
  wire += "HTTP/1.1 100\r\nContent-Length: 7\r\nContent-Length: x\r\n\r\n";
  wire += "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok";
  const Answer answer = answer_to(wire);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.interim, 21);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.fields, "Content-Length=2;");
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(answer.wire_bytes, wire.size());
}

TEST(ResponseParser, SwitchingProtocolsOnlyWhereAsked) {
  const std::string wire = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw";
  EXPECT_NE(error_of(wire), "");
  const Answer asked = answer_to(wire, Method::get, End::open, true);
  EXPECT_TRUE(asked.done);
  EXPECT_FALSE(asked.keep_alive);
  EXPECT_EQ(asked.consumed, wire.size() - 3);
}

TEST(ResponseParser, ATunnelBeginsAfterTheHead) {
  const Answer tunnel = answer_to("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nraw", Method::connect);
  EXPECT_TRUE(tunnel.done);
  EXPECT_EQ(tunnel.body, "");
  EXPECT_FALSE(tunnel.keep_alive);
  const Answer refused = answer_to("HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nraw", Method::connect);
  EXPECT_EQ(refused.body, "raw");
}

TEST(ResponseParser, Trap47_ContentLengthZeroEndsTheMessage) {
  EXPECT_TRUE(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").done);
  EXPECT_TRUE(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 000\r\n\r\n").done);
}

TEST(ResponseParser, Trap47_MalformedLengthsAreErrors) {
  for (const char* value : {"", " ", ",", "-1", "+5", "5 5", "5;", "0x5", "5.0", "1e3", "five",
                            "18446744073709551616", "99999999999999999999999", "5, 6", "5,x", "\"5\""}) {
    EXPECT_NE(error_of(std::string("HTTP/1.1 200 OK\r\nContent-Length: ") + value + "\r\n\r\n"), "") << value;
    EXPECT_NE(error_of(std::string("HTTP/1.1 200 OK\r\nContent-Length: ") + value + "\r\n\r\n", Method::head),
              "");
  }
  EXPECT_NE(error_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"), "");
  EXPECT_NE(error_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length:\r\n\r\n"), "");
  EXPECT_NE(error_of("HTTP/1.1 200 OK\r\n\"stray\"\r\nContent-Length: 0\r\n\r\n"), "");
}

TEST(ResponseParser, LengthsSaidTwiceAlikeAreAccepted) {
  for (const char* fields : {"Content-Length: 5\r\ncontent-length: 5\r\n", "Content-Length: 5, 5\r\n",
                             "Content-Length: 5,,5 ,05\r\nContent-Length: 5\r\n"}) {
    const Answer answer = answer_to(std::string("HTTP/1.1 200 OK\r\n") + fields + "\r\nhello");
    EXPECT_EQ(answer.error, "") << fields;
    EXPECT_EQ(answer.body, "hello");
    EXPECT_TRUE(answer.done);
  }
  ResponseParser parser;
  parser.start(Method::get);
  ASSERT_TRUE(parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"));
  EXPECT_EQ(parser.skippable(), 18446744073709551615ULL);
}

TEST(ResponseParser, TransferCodings) {
  const auto framing = [](const char* fields) {
    ResponseParser parser;
    parser.start(Method::get);
    const auto step = parser.feed(std::string("HTTP/1.1 200 OK\r\n") + fields + "\r\n");
    return step ? std::optional(std::pair(parser.head().framing, parser.head().transfer_coded))
                : std::nullopt;
  };
  EXPECT_EQ(framing("Transfer-Encoding: chunked\r\n"), std::pair(Framing::chunked, false));
  EXPECT_EQ(framing("Transfer-Encoding: , chunked ,\r\n"), std::pair(Framing::chunked, false));
  EXPECT_EQ(framing("Transfer-Encoding: gzip, chunked\r\n"), std::pair(Framing::chunked, true));
  EXPECT_EQ(framing("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
            std::pair(Framing::chunked, true));
  EXPECT_EQ(framing("Transfer-Encoding: chunked, gzip\r\n"), std::pair(Framing::until_close, true));
  EXPECT_EQ(framing("Transfer-Encoding: xchunked\r\n"), std::pair(Framing::until_close, true));
  for (const char* bad :
       {"Transfer-Encoding:\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked;a=b\r\n", "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: gzip;q=1, chunked\r\n", "Transfer-Encoding: gzip;a=\"b, chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: gzip\r\n"}) {
    EXPECT_EQ(framing(bad), std::nullopt) << bad;
  }
  EXPECT_NE(error_of("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), "");
}

TEST(ResponseParser, RefusesMalformedHeads) {
  for (const std::string_view wire : {"\r\n",
                                      "\r\nHTTP/1.1 200 OK\r\n\r\n",
                                      "SSH-2.0-OpenSSH_9.2\r\n",
                                      "\x15\x03\x01",
                                      "<html>",
                                      "http/1.1 200 OK\r\n\r\n",
                                      "HTTP/2 200\r\n\r\n",
                                      "HTTP/1 200 OK\r\n\r\n",
                                      "HTTP/1.x 200 OK\r\n\r\n",
                                      "HTTP/1.11 200 OK\r\n\r\n",
                                      "HTTP/1.1\r\n\r\n",
                                      "HTTP/1.1 \r\n\r\n",
                                      "HTTP/1.1  200 OK\r\n\r\n",
                                      "HTTP/1.1\t200 OK\r\n\r\n",
                                      "HTTP/1.1 20 OK\r\n\r\n",
                                      "HTTP/1.1 2000 OK\r\n\r\n",
                                      "HTTP/1.1 2x0 OK\r\n\r\n",
                                      "HTTP/1.1 099 OK\r\n\r\n",
                                      "HTTP/1.1 -20 OK\r\n\r\n",
                                      "HTTP/1.1 200OK\r\n\r\n",
                                      "HTTP/1.1 200\tOK\r\n\r\n",
                                      "HTTP/1.1 200 O\rK\r\n\r\n",
                                      "HTTP/1.1 200 OK\n\n",
                                      "HTTP/1.1 200 OK\r\nA: b\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: b\r\n\n",
                                      "HTTP/1.1 200 OK\r\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: \x01\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: \x7f\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA(b: c\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\n\xc3\xa4: b\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
                                      "HTTP/1.1 100 OK\r\nA b: c\r\n\r\n"}) {
    EXPECT_NE(error_of(wire), "") << wire;
  }
  EXPECT_NE(error_of(std::string_view("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", 27)), "");
  EXPECT_NE(error_of(std::string_view("\0\0\x12\4\0\0\0\0\0", 9)), "") << "HTTP/2 SETTINGS";
}

TEST(ResponseParser, RefusesMalformedChunks) {
  for (const std::string_view body : {"\r\n",
                                      ";x\r\n",
                                      "g\r\n",
                                      "-5\r\n",
                                      "+5\r\n",
                                      "0x5\r\n",
                                      " 5\r\n",
                                      "5 5\r\n",
                                      "5\n",
                                      "5\r\r\n",
                                      "5\rhello",
                                      "5\r\nhello5\r\n",
                                      "5\r\nhello\n",
                                      "5\r\nhello\r5",
                                      "5\r\nhello!\r\n",
                                      "5;a\x01\r\n",
                                      "5;a\n",
                                      "5;a\rb",
                                      "10000000000000000\r\n",
                                      "ffffffffffffffff0\r\n",
                                      "0\r\n\n",
                                      "0\r\n\rx",
                                      "0\r\nA\r\n",
                                      "0\r\n: b\r\n",
                                      "0\r\n A: b\r\n",
                                      "0\r\nA: b\r\n c\r\n\r\n",
                                      "0\r\nA: \x02\r\n",
                                      "0\r\nA: b\n",
                                      "0\r\nA: b\rc",
                                      "0\r\nA : b\r\n"}) {
    EXPECT_NE(error_of(std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").append(body)), "")
        << body;
  }
}

TEST(ResponseParser, AnErrorStays) {
  ResponseParser parser;
  parser.start(Method::get);
  ASSERT_FALSE(parser.feed("HTTP/1.1 200 OK\n"));
  EXPECT_FALSE(parser.feed("\r\n\r\n"));
  EXPECT_FALSE(parser.finish());
  parser.start(Method::get);
  EXPECT_TRUE(parser.feed("HTTP/1.1 204 OK\r\n\r\n"));
}

TEST(ResponseParser, AnEndlessHeadIsCutOff) {
  const HeadLimits limits{.max_bytes = 1000, .max_fields = 10};
  for (const std::string_view piece : {"a", "A: b\r\n"}) {
    ResponseParser parser(limits);
    parser.start(Method::get);
    ASSERT_TRUE(parser.feed("HTTP/1.1 200 OK\r\nX: "));
    std::size_t fed = 0;
    while (parser.feed(piece) && fed < 2000) fed += piece.size();
    EXPECT_LT(fed, 1000);
  }
  const auto head_of = [](std::size_t size) {
    return "HTTP/1.1 204 OK\r\nX: " + std::string(size - 24, 'x') + "\r\n\r\n";
  };
  for (const std::size_t size : {1000, 1001, 5000}) {
    ResponseParser parser(limits);
    parser.start(Method::get);
    EXPECT_EQ(parser.feed(head_of(size)).has_value(), size == 1000) << size;
  }
}

TEST(ResponseParser, EndlessChunkLinesAndTrailersAreCutOff) {
  for (const std::string_view start : {"5;", "0000", "0\r\nA: "}) {
    ResponseParser parser;
    parser.start(Method::get);
    ASSERT_TRUE(parser.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
    ASSERT_TRUE(parser.feed(start));
    EXPECT_FALSE(parser.feed(std::string(70'000, '0'))) << start;
  }
}

}  // namespace
}  // namespace plimsoll::http
