// The client's side of HTTP/1.1 (RFC 9112): bytes in, responses out. No I/O, no clock, no allocation once warm.
//
//   parser.start(Method::get);
//   while (!parser.done()) {
//     auto step = parser.feed(bytes);        // an Error ends the connection
//     if (step->head) ... parser.head() ...  // final answers only: 1xx are skipped
//     if (!step->body.empty()) ...           // lies within `bytes`
//     bytes.remove_prefix(step->consumed);   // empty: receive more; what is left when done is the next answer's
//   }
//   at the end of the stream: parser.finish();
//
// Strict where a peer's answer could be framed in two ways; see fields.h for the line policy. In particular:
// - Content-Length said twice, equal, also as "5, 5": accepted; different, malformed or above 2^64-1: an error.
// - Content-Length with Transfer-Encoding: an error (RFC 9112, section 6.3, item 3, "ought to be handled as an error").
// - Transfer-Encoding from an HTTP/1.0 peer: an error (section 6.1: the framing is faulty).
// - Transfer codings whose last isn't chunked: the body ends at the close; chunked twice, or parameters: an error.
// - The reason phrase may be empty, with or without the space before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "http/body_decoder.h"
#include "http/head.h"
#include "http/message.h"

namespace plimsoll::http {

class ResponseParser {
 public:
  explicit ResponseParser(const HeadLimits& limits = {}) : reader_(limits) {}

  // Begins the answer to a request with this method: HEAD, and a CONNECT that succeeds, have no body, whatever the
  // fields say. `upgrade`: the request asked for one, so that 101 is a final answer; else it is an error. Views of the
  // head before end here.
  void start(Method method, bool upgrade = false);

  // Errors are ErrorKind::protocol, and stay until start(): every later call fails in the same way.
  Result<MessageStep> feed(std::string_view bytes);

  // The peer has closed. Good if that ends a body without a length, or if the message was done before. Else
  // `short_body` within a body, `closed` before and within the head (see untouched()).
  Result<void> finish();

  bool done() const { return head_done_ && body_.done(); }
  bool head_done() const { return head_done_; }
  // No byte of an answer has come since start(), not even of a 1xx: the peer that closes now may have done so before
  // it saw the request.
  bool untouched() const { return head_bytes_ == 0; }
  const ResponseHead& head() const { return head_; }

  // Interim answers (1xx) skipped since start(), and whether "100 Continue" was among them.
  unsigned interim() const { return interim_; }
  bool continued() const { return continued_; }

  // Content that may be discarded without feeding it; see BodyDecoder.
  std::uint64_t skippable() const { return head_done_ ? body_.skippable() : 0; }
  void skip(std::uint64_t count) { body_.skip(count); }

  std::uint64_t head_bytes() const { return head_bytes_; }  // interim answers included
  std::uint64_t body_bytes() const { return head_done_ ? body_.body_bytes() : 0; }
  std::uint64_t wire_bytes() const { return head_bytes_ + (head_done_ ? body_.wire_bytes() : 0); }

 private:
  Result<void, Fault> feed_head(std::string_view bytes, MessageStep& step);
  Result<void, Fault> take_head();
  Result<void, Fault> parse_status_line(std::string_view line);
  Result<void, Fault> frame(const FieldFacts& facts);
  bool bodiless() const;
  Error fail(const Fault& fault);

  HeadReader reader_;
  BodyDecoder body_;
  ResponseHead head_;
  Method method_ = Method::get;
  bool upgrade_ = false;
  bool head_done_ = false;
  bool continued_ = false;
  unsigned interim_ = 0;
  std::uint64_t head_bytes_ = 0;
  const char* failure_ = nullptr;
};

}  // namespace plimsoll::http
