// The lines of a head: its first one as it is, the others as fields, with what they say about framing and the
// connection.
//
// Line policy, stricter than RFC 9112, section 2.2, allows a recipient to be: a line ends in CRLF. A bare LF, a bare
// CR, NUL and every other control character but the tab are faults, and so is a folded field (obs-fold, section
// 5.2). Whoever differs from the next program in the chain about where a line ends can be made to smuggle, and no
// server worth measuring needs the leniency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace plimsoll::http {

// Only collected here: what follows from it differs between requests and responses.
struct FieldFacts {
  std::optional<std::uint64_t> content_length;
  bool length_repeated = false;   // in a second field or as a list
  bool length_malformed = false;  // not 1*DIGIT, too large, or two that differ
  bool transfer_encoding = false;
  bool chunked = false;           // among the codings
  bool chunked_last = false;      // the final coding is chunked
  bool other_coding = false;      // a coding that is not chunked
  bool coding_malformed = false;  // an empty list, no token, parameters, or chunked twice
  bool close = false;             // options of Connection
  bool keep_alive = false;
  unsigned hosts = 0;
  std::string_view host;
  std::string_view expect;
};

// Reads a head from the beginning of `text`; every view lies within it. The size of the head, up to and including its
// blank line; 0 if it does not end within the text. Faults besides those of the line policy: a field without a colon,
// an empty or malformed name, white space before the colon.
Result<std::size_t, Fault> parse_head_lines(std::string_view text, std::string_view& first, Headers& headers,
                                            FieldFacts& facts);

// What a control character in a head is, where CRLF should stand.
Fault bad_line_end(const char* at);

// Decimal digits only, at least one, below 2^64.
std::optional<std::uint64_t> parse_length(std::string_view digits);

}  // namespace plimsoll::http
