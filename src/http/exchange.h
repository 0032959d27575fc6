// One request and its answer, as the client side of every protocol version sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/message.h"
#include "net/stream.h"
#include "net/task.h"

namespace plimsoll::http {

// A run of body bytes that lie together; where `file` is given the same bytes can be sent from it without a copy.
struct BodyPiece {
  std::string_view bytes;
  int file = -1;
  std::uint64_t file_offset = 0;
};

// What a request carries. It can be read again from any offset, so that an attempt that failed can be repeated
// whole (trap 24), and it stays in place until the exchange has ended.
class RequestBody {
 public:
  virtual ~RequestBody() = default;
  // nullopt: sent with chunked coding.
  virtual std::optional<std::uint64_t> length() const = 0;
  // From `offset` on; an empty piece at the end.
  virtual BodyPiece piece(std::uint64_t offset) const = 0;
};

// Bytes in memory that the caller keeps.
class TextBody final : public RequestBody {
 public:
  explicit TextBody(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::uint64_t> length() const override { return bytes_.size(); }
  BodyPiece piece(std::uint64_t offset) const override { return {.bytes = bytes_.substr(offset)}; }

 private:
  std::string_view bytes_;
};

// Takes an answer's body as it arrives. Called between the head and the end of the exchange, on the loop's thread.
class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual void data(std::string_view bytes) = 0;
};

// A request, rendered as far as all its parts are known. The views outlive the exchange.
struct Request {
  Method method = Method::get;
  std::string_view method_text;         // where `method` is other
  std::string_view target = "/";        // origin form, byte for byte
  std::string_view authority;           // the Host field
  std::span<const HeaderView> headers;  // without Host, Content-Length and Transfer-Encoding
  const RequestBody* body = nullptr;
  bool bulk_answer = false;  // a large body is expected: received and discarded in big pieces
  // HTTP/1.1 only: the whole head, ready to be sent, in place of the parts above (the hot path of a load).
  std::string_view rendered_head;
};

// What an exchange gave. The head's views are valid until the connection's next exchange.
struct Answer {
  const ResponseHead* head = nullptr;
  Instant sent_first{};  // its first byte went to the kernel
  Instant first_byte{};  // the first byte of its answer was received
  Instant last_byte{};   // and the last
  std::uint64_t wire_sent = 0;
  std::uint64_t wire_received = 0;
  std::uint64_t body_sent = 0;
  std::uint64_t body_received = 0;
  bool early = false;  // the final answer came before the body was sent whole; the connection is closed then

  int status() const { return head->status; }
};

// How far an exchange has come: decides whether one that failed may be repeated.
struct Progress {
  bool body_started = false;    // some byte of the request's body has gone
  bool answer_started = false;  // some byte of an answer has come
  int status = 0;               // of the final answer's head, where that had arrived
  Instant sent_first{};
  Instant first_byte{};
};

}  // namespace plimsoll::http
