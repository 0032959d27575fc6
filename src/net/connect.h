// Opening connections and accepting them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/address.h"
#include "net/loop.h"
#include "net/stream.h"
#include "net/task.h"

namespace plimsoll::net {

struct ConnectOptions {
  std::optional<Address> source;  // bound with IP_BIND_ADDRESS_NO_PORT, so that ports are per destination
  std::string congestion;         // TCP_CONGESTION; empty: the system's
};

// A plain connection to one address. Errors: connect_refused, connect_timeout, out_of_ports, out_of_descriptors.
Task<Result<std::unique_ptr<Stream>>> connect(Loop& loop, Address to, const ConnectOptions& options,
                                              Patience patience);

struct ListenOptions {
  int backlog = 4096;
  bool reuse_port = false;  // several loops listen on one port (SO_REUSEPORT)
  std::string congestion;
};

// A listening socket. Port 0 picks a free one; address() tells which.
class Listener {
 public:
  static Checked<Listener> open(const Address& address, const ListenOptions& options);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  const Address& address() const { return address_; }
  int descriptor() const { return fd_; }

  // The next connection, on this loop. One acceptor at a time. Errors: out_of_descriptors (after a short pause),
  // cancelled after stop().
  Task<Result<std::unique_ptr<Stream>>> accept(Loop& loop);
  // Ends accept() in this loop's thread, now and later.
  void stop();

 private:
  Listener(int fd, Address address) : fd_(fd), address_(address) {}
  int fd_;
  Address address_;
  bool stopped_ = false;
  std::coroutine_handle<> waiting_ = nullptr;
  class Acceptable;
};

}  // namespace plimsoll::net
