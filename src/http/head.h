// Collects the head of a message from the pieces in which it arrives, and owns the text that head views point into.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/fields.h"
#include "http/message.h"

namespace plimsoll::http {

struct HeadLimits {
  std::size_t max_bytes = 64 * 1024;  // of the whole head with its blank line
  std::size_t max_fields = 256;
};

class HeadReader {
 public:
  explicit HeadReader(const HeadLimits& limits) : limits_(limits) {}

  // Begins the next head. The last complete one is kept for comparison: peers repeat their heads byte for byte (a
  // server's changes when its Date does, a client's never), and equal bytes need no second parse.
  void reset();
  // RFC 9112, section 2.2: a server ignores empty lines before a request line. They count towards max_bytes.
  void allow_leading_blank_lines() { leading_blanks_ = true; }

  struct Taken {
    std::size_t consumed = 0;  // of `bytes`; up to and including the blank line if complete, else all of them
    bool complete = false;
  };
  // Fills `headers` when the head is complete; it is the same object every time, and nobody else changes it. Faults are those of parse_head_lines(), and 431: too many bytes or
  // fields. The same bytes give the same fault however they were cut: those of line ends come first.
  Result<Taken, Fault> feed(std::string_view bytes, Headers& headers);

  // Once complete; valid until reset().
  std::string_view first_line() const { return first_line_; }
  const FieldFacts& facts() const { return facts_; }

  // What has come, of an unfinished head too.
  std::string_view text() const { return kept_ ? std::string_view() : text_; }
  // The first line has not ended yet.
  bool in_first_line() const { return kept_ || line_count_ == 0; }

 private:
  void forget();
  bool take_whole(std::string_view bytes, Headers& headers);
  std::size_t leading_blanks(std::string_view text) const;
  Result<std::size_t, Fault> scan();

  HeadLimits limits_;
  bool leading_blanks_ = false;
  bool complete_ = false;
  bool kept_ = false;  // text_, and all that points into it, is the last head's
  std::string text_;
  std::string_view first_line_;
  FieldFacts facts_;
  // Of a head that comes in pieces: what scan() has seen of it.
  std::size_t scanned_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t line_count_ = 0;
};

}  // namespace plimsoll::http
