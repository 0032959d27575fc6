// What the two ends of HTTP/2 share of nghttp2's own types; included by their sources only.
#pragma once

#include <nghttp2/nghttp2.h>

#include <string_view>

namespace plimsoll::http {

// A field for nghttp2, which copies both texts and writes the name in lower case.
inline nghttp2_nv http2_field(std::string_view name, std::string_view value) {
  return {const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(name.data())),
          const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Asks the stream's Http2Stream for the next piece of its body: nghttp2_data_provider::read_callback.
ssize_t http2_read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* into, std::size_t most,
                        std::uint32_t* flags, nghttp2_data_source* source, void* user);

}  // namespace plimsoll::http
