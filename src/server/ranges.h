// Range requests for one range of bytes (RFC 9110, section 14). Several ranges are answered as none: with everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/server.h"

namespace plimsoll::server {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

enum class RangeKind : std::uint8_t { none, one, unsatisfiable };

// The value of Range for content of this size; nullopt text: no such field.
RangeKind parse_range(std::optional<std::string_view> text, std::uint64_t size, ByteRange& range);

// Answers with `content` or the range of it that is asked for: 200, 206 or 416. An If-Range that is not `etag` asks
// for everything.
void answer_with_content(const http::RequestHead& request, http::ServerAnswer& answer,
                         const http::Payload& content, std::string_view etag);

}  // namespace plimsoll::server
