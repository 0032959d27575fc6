// The addresses of one origin, and how connections are spread over them.
//
// A name may have addresses on which nobody listens (an IPv4-only registry behind a `localhost` that is also ::1).
// The first connection to each address decides: one that does not answer is put aside with its reason, and later
// connections go round robin over those that do. While the first attempts are under way other openers wait for the
// first verdict, so that an address that swallows packets holds up one connection, for kProbeLimit at most. When no
// address is left the first reason is the error. Belongs to one thread; copies start anew.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/address.h"
#include "net/connect.h"
#include "net/loop.h"
#include "net/scope.h"
#include "net/sources.h"
#include "net/stream.h"

namespace plimsoll::net {

class Endpoints {
 public:
  struct Endpoint {
    Address address;
    std::uint64_t connections = 0;
    bool answered = false;
    bool aside = false;
    Error problem = {};  // where it is aside
    int probing = 0;     // first attempts under way
  };

  // `first`: where the round robin starts, so that threads do not all begin with the same address.
  Endpoints(const std::vector<Address>& addresses, SourcePool sources, std::string congestion,
            std::size_t first = 0);

  Task<Result<std::unique_ptr<Stream>>> open(Loop& loop, Patience patience);

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  // How long the first attempt at an address may take where there are others: time for one SYN to be sent again.
  static constexpr Nanos kProbeLimit = std::chrono::milliseconds(1500);

 private:
  class Probe;

  // Null while all that could be tried are being tried for the first time.
  Endpoint* pick();
  std::size_t in_use() const;
  void put_aside(Endpoint& endpoint, const Error& error);
  Task<Result<std::unique_ptr<Stream>>> attempt(Loop& loop, Endpoint& endpoint, Patience patience);

  std::vector<Endpoint> endpoints_;
  SourcePool sources_;
  std::string congestion_;
  std::size_t next_;
  Event verdict_;  // pulses when a first attempt has ended
};

}  // namespace plimsoll::net
