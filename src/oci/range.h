// Range answers of upload sessions: how much a registry says it has (distribution-spec, "Pushing a blob in
// chunks"). Also the Content-Range of reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::oci {

struct UploadRange {
  std::uint64_t first = 0;  // 0, unless the registry speaks of its last chunk alone
  std::uint64_t next = 0;   // the offset after the last byte it names: where to go on
  // "0-0" is what an empty session answers by convention, and what one with a single byte must.
  bool maybe_empty = false;

  friend bool operator==(const UploadRange&, const UploadRange&) = default;
};

// "0-5", "bytes=0-5", "bytes 0-5/100", "0--1" and "bytes=0--1" (nothing yet), "0-0" (nothing, or one byte); spaces
// and the unit's case do not matter. nullopt for anything else: "5-2", "0-", "-5", text.
std::optional<UploadRange> parse_upload_range(std::string_view text);

// "bytes 0-5/100", "bytes 0-5/*" and "bytes */100" of a 206 or 416 (RFC 9110, section 14.4).
struct ContentRange {
  std::optional<std::uint64_t> first;  // absent in "*/100"
  std::uint64_t next = 0;              // after the last byte
  std::optional<std::uint64_t> total;

  friend bool operator==(const ContentRange&, const ContentRange&) = default;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

}  // namespace plimsoll::oci
