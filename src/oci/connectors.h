// Where connections to the origins come from that a registry sends its clients to.
#pragma once

#include <cstdint>

#include "http/connector.h"
#include "http/url.h"

namespace plimsoll::oci {

// What an origin is to a client. One origin may be several things.
enum class Part : std::uint8_t { registry, token, storage };

// Gives a connector for each origin (the registry itself, token server, storage). Lives as long as the thread; one
// per thread.
class Connectors {
 public:
  virtual ~Connectors() = default;
  virtual http::Connector& to(const http::Url& origin, Part part) = 0;
};

}  // namespace plimsoll::oci
