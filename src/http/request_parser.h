// The server's side of HTTP/1.1 (RFC 9112): bytes in, requests out. No I/O, no clock, no allocation once warm.
//
//   parser.start();
//   while (!parser.done()) {
//     auto step = parser.feed(bytes);        // a Fault: answer its status (0: don't answer) and close
//     if (parser.http2()) ...                // prior knowledge: hand over to an HTTP/2 session
//     if (step->head) ... parser.head() ...
//     if (!step->body.empty()) ...           // lies within `bytes`
//     bytes.remove_prefix(step->consumed);   // empty: receive more; what is left when done is the next request's
//   }
//
// Whatever could be framed in two ways is refused, so that nothing can be smuggled past it; see fields.h for the line
// policy. In particular:
// - 400: Content-Length with Transfer-Encoding, or said twice, even alike; a Transfer-Encoding whose last coding isn't
//   chunked, or from an HTTP/1.0 client; no Host or two, or a malformed one; the asterisk but for OPTIONS; a target
//   that is neither a path nor an http(s) URL; a fragment or user information in it.
// - 414, 417, 431: a long target, an expectation besides 100-continue, a large head.
// - 501: CONNECT, and transfer codings besides chunked. 505: another major version.
// - 0: a TLS ClientHello on a plain-text port, since its sender waits for an end, not for an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "http/body_decoder.h"
#include "http/head.h"
#include "http/message.h"

namespace plimsoll::http {

struct RequestLimits {
  HeadLimits head;
  std::size_t max_target = 16 * 1024;
};

// What an HTTP/2 client with prior knowledge sends first (RFC 9113, section 3.4).
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class RequestParser {
 public:
  explicit RequestParser(const RequestLimits& limits = {});

  // Begins the next request of the connection. Views of the head before end here.
  void start();

  // A fault stays: what follows on the connection has no known meaning.
  Result<MessageStep, Fault> feed(std::string_view bytes);

  // The connection's first bytes were HTTP/2's whole preface, consumed to its last byte: the session is to be given
  // kHttp2Preface and all that follows. (Fed on instead, the parser says 505.)
  bool http2() const { return preface_matched_ == kHttp2Preface.size(); }

  bool done() const { return head_done_ && body_.done(); }
  bool head_done() const { return head_done_; }
  // Nothing of a request has come since start(): a close is now no loss, and no timeout of a head runs.
  bool untouched() const { return head_bytes_ == 0; }
  const RequestHead& head() const { return head_; }

  std::uint64_t skippable() const { return head_done_ ? body_.skippable() : 0; }
  void skip(std::uint64_t count) { body_.skip(count); }

  std::uint64_t head_bytes() const { return head_bytes_; }
  std::uint64_t body_bytes() const { return head_done_ ? body_.body_bytes() : 0; }
  std::uint64_t wire_bytes() const { return head_bytes_ + (head_done_ ? body_.wire_bytes() : 0); }

 private:
  Result<void, Fault> feed_head(std::string_view bytes, MessageStep& step);
  Result<void, Fault> match_preface(std::string_view bytes, MessageStep& step);
  Result<void, Fault> take_head();
  Result<void, Fault> parse_request_line(std::string_view line);
  Result<void, Fault> parse_target();
  Result<void, Fault> parse_absolute_target();
  Result<void, Fault> check_host(const FieldFacts& facts);
  Result<void, Fault> frame(const FieldFacts& facts);
  Fault fail(const Fault& fault);

  HeadReader reader_;
  BodyDecoder body_;
  RequestHead head_;
  std::size_t max_target_;
  bool first_ = true;  // request of the connection
  bool head_done_ = false;
  bool failed_ = false;
  Fault fault_;
  std::size_t preface_matched_ = 0;
  std::uint64_t head_bytes_ = 0;
};

}  // namespace plimsoll::http
