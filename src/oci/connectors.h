// Where connections to the origins come from that a registry sends its clients to.
#pragma once

#include "http/connector.h"
#include "http/url.h"

namespace plimsoll::oci {

// Gives a connector for each origin (the registry itself, token server, storage). Lives as long as the thread; one
// per thread.
class Connectors {
 public:
  virtual ~Connectors() = default;
  virtual http::Connector& to(const http::Url& origin) = 0;
};

}  // namespace plimsoll::oci
