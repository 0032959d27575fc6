// Heads of requests and responses as bytes (RFC 9112). Appends to a string whose room the caller keeps: a warm one
// allocates nothing. What could end a line early (CR, LF, NUL, any control character but the tab) is refused, never
// sent or repaired: a value from outside can't add a field.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace plimsoll::http {

struct OutgoingRequest {
  std::string_view method = "GET";
  std::string_view target = "/";        // as Url::target, or absolute for a proxy
  std::string_view host;                // as Url::authority(); not sent if `headers` has a Host of its own
  std::span<const HeaderView> headers;  // sent as they are, in this order, after Host
  std::optional<std::uint64_t> content_length = std::nullopt;
  bool chunked = false;  // adds Transfer-Encoding; not together with content_length
};

struct OutgoingResponse {
  int status = 200;
  std::string_view reason = {};  // empty: the registered phrase
  std::span<const HeaderView> headers;
  std::optional<std::uint64_t> content_length = std::nullopt;
  bool chunked = false;
  // Says "close", which HTTP/1.1 needs, or, to an HTTP/1.0 client that is to stay, "keep-alive".
  bool close = false;
  bool keep_alive = false;
};

// Fails with ErrorKind::protocol, `out` unchanged, on a method that is no token, white space or a control character in
// the target, a field name that is no token, a control character in a value, or two framings at once.
Result<void> render_request(std::string& out, const OutgoingRequest& request);
// Likewise, also on a status outside 100 to 999.
Result<void> render_response(std::string& out, const OutgoingResponse& response);

// "1a\r\n" before `size` bytes of a chunk, kChunkEnd after them; kLastChunk ends the body. `size` is not 0, which would
// end it too.
void append_chunk_head(std::string& out, std::uint64_t size);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace plimsoll::http
