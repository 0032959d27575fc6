// The body of a message, from the bytes of the wire to its content, without copying: what is handed out are pieces
// of what was fed.
//
// Chunked (RFC 9112, section 7.1): chunk extensions and trailer fields are checked for line endings and control
// characters, and dropped. White space after a chunk size is tolerated (old servers pad there); everything else is
// by the grammar, CRLF included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace plimsoll::http {

class BodyDecoder {
 public:
  // Starts the next body. `length` counts for Framing::length only.
  void start(Framing framing, std::uint64_t length = 0);

  struct Step {
    std::size_t consumed = 0;
    std::string_view data;  // content; lies within the bytes that were fed
    bool done = false;      // the body has ended; what follows is not ours
  };
  // Takes bytes up to the end of the body, or up to a second piece of content: one call hands out one piece.
  // Whoever isn't done and has bytes left calls again with them.
  Result<Step, Fault> feed(std::string_view bytes);

  // The peer sends no more. True if that ends the body well: it was complete, or ends at the close.
  bool finish();

  // How many of the next bytes are content, whatever they are: they may be thrown away unseen (MSG_TRUNC, splice)
  // and reported to skip(). Without bound for a body that ends at the close; 0 where the next byte must be read.
  std::uint64_t skippable() const;
  // `count` <= skippable().
  void skip(std::uint64_t count);

  bool done() const { return state_ == State::done; }
  std::uint64_t body_bytes() const { return body_bytes_; }
  // With chunk sizes, extensions and trailers.
  std::uint64_t wire_bytes() const { return wire_bytes_; }

  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kMaxChunkLine = 4096;      // a chunk size with its extensions
  static constexpr std::size_t kMaxTrailers = 64 * 1024;  // all trailer fields together

 private:
  enum class State : std::uint8_t {
    done,
    length,       // `left_` bytes of content to come
    until_close,  //
    size_first,   // the first digit of a chunk size
    size,
    size_blank,  // white space after it
    extension,
    size_lf,
    data,  // `left_` bytes of the chunk to come
    data_cr,
    data_lf,
    trailer_first,  // the first character of a trailer line
    trailer_name,
    trailer_value,
    trailer_lf,
    last_lf,
  };

  std::string_view take(std::string_view bytes);
  // One byte of chunked framing.
  Result<void, Fault> frame(char c);
  Result<void, Fault> frame_size(char c);
  Result<void, Fault> frame_trailer(char c);
  Result<void, Fault> add_digit(char c);
  Result<void, Fault> expect(char c, char wanted, State next);

  State state_ = State::done;
  std::uint64_t left_ = 0;
  std::size_t line_bytes_ = 0;  // of the chunk line or of the trailers, against their limits
  std::uint64_t body_bytes_ = 0;
  std::uint64_t wire_bytes_ = 0;
};

}  // namespace plimsoll::http
