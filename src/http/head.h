// The head of a message, from bytes to lines to fields, for both directions.
//
// Line policy, stricter than RFC 9112, section 2.2, allows a recipient to be: a line ends in CRLF. A bare LF, a bare
// CR, NUL and every other control character but the tab are faults, and so is a folded field (obs-fold, section
// 5.2). Whoever differs from the next program in the chain about where a line ends can be made to smuggle, and no
// server worth measuring needs the leniency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"

namespace plimsoll::http {

// Bytes that are not HTTP. `status` is what a server answers to them; 0 means that it closes without an answer.
struct Fault {
  int status = 400;
  const char* text = "";  // static; says what is wrong
};

struct HeadLimits {
  std::size_t max_bytes =
      64 * 1024;  // of the whole head with its blank line; of a chunked body's trailers too
  std::size_t max_fields = 256;
};

// Collects one head and cuts it into lines. Owns the text that head views point into: it stays until reset().
class HeadReader {
 public:
  explicit HeadReader(const HeadLimits& limits) : limits_(limits) { lines_.reserve(32); }

  // Forgets the head; its room is kept.
  void reset();
  // RFC 9112, section 2.2: a server ignores empty lines before a request line. They count towards max_bytes.
  void allow_leading_blank_lines() { leading_blanks_ = true; }

  struct Taken {
    std::size_t consumed = 0;  // of `bytes`; up to and including the blank line if complete, else all of them
    bool complete = false;
  };
  // Faults: a line ending or control character (400); too many bytes or fields (431).
  Result<Taken, Fault> feed(std::string_view bytes);

  // What has come so far, the beginning of an unfinished head.
  std::string_view partial() const { return text_; }
  // Once complete: the first line, and the field lines after it.
  std::size_t line_count() const { return lines_.size(); }
  std::string_view line(std::size_t index) const;

 private:
  struct Line {
    std::uint32_t begin, end;
  };

  // Goes on where it stopped; nullopt: not complete yet. Else the size of the head.
  Result<std::optional<std::size_t>, Fault> scan(std::string_view text);

  HeadLimits limits_;
  bool leading_blanks_ = false;
  std::string text_;
  std::vector<Line> lines_;
  std::size_t scanned_ = 0;     // up to here there is nothing left to look at
  std::size_t line_begin_ = 0;  // of the line that has not ended yet
};

// What the fields say about framing and the connection. Only collected here: what follows from it differs between
// requests and responses.
struct FieldFacts {
  std::optional<std::uint64_t> content_length;
  bool length_repeated = false;   // in a second field or as a list
  bool length_malformed = false;  // not 1*DIGIT, too large, or two that differ
  bool transfer_encoding = false;
  bool chunked = false;           // among the codings
  bool chunked_last = false;      // the final coding is chunked
  bool other_coding = false;      // a coding that is not chunked
  bool coding_malformed = false;  // an empty list, chunked twice, or parameters on chunked
  bool close = false;             // options of Connection
  bool keep_alive = false;
  unsigned hosts = 0;
  std::string_view host;
  std::string_view expect;
};

// Reads the field lines of a complete head. Faults: no colon, an empty or malformed name, white space before the
// colon, a folded line.
Result<void, Fault> parse_fields(const HeadReader& reader, Headers& headers, FieldFacts& facts);

// Decimal digits only, at least one, below 2^64.
std::optional<std::uint64_t> parse_length(std::string_view digits);

}  // namespace plimsoll::http
