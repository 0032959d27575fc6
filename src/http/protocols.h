// Which versions of HTTP a client may speak.
#pragma once

#include <cstdint>

namespace plimsoll::http {

enum class Protocols : std::uint8_t {
  http1,
  automatic,  // over TLS what the peer prefers (ALPN); in clear HTTP/1.1
  http2,      // nothing else; in clear by prior knowledge
};

}  // namespace plimsoll::http
