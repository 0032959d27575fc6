// Where a client's connections come from.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "net/loop.h"
#include "net/stream.h"
#include "net/task.h"

namespace plimsoll::http {

class Http2Pool;

// A connection that is ready for a request, and what opening it took.
struct Opened {
  std::unique_ptr<net::Stream> stream;
  Nanos connect{};
  Nanos tls{};
};

class Connector {
 public:
  virtual ~Connector() = default;
  // Opens one connection. Errors: resolve, connect_refused, connect_timeout, out_of_ports, out_of_descriptors, tls.
  virtual net::Task<Result<Opened>> open(net::Loop& loop, net::Patience patience) = 0;
  // What made the last attempt fail, where the error alone doesn't say it (OpenSSL's reason); for samples.
  virtual std::string failure() const { return {}; }
  // Where HTTP/2 may be spoken to this origin: what its clients share. Null: HTTP/1.1 only.
  virtual Http2Pool* http2() { return nullptr; }
};

}  // namespace plimsoll::http
