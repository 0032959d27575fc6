// A running server: loops in threads of their own, each with its own listening sockets (SO_REUSEPORT) and its own
// connections, around one shared handler. What `plimsoll serve` runs, and what tests start in-process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/server.h"
#include "http/server_connection.h"
#include "net/address.h"
#include "net/backend.h"
#include "server/workers.h"

namespace plimsoll::server {

struct ServerOptions {
  std::vector<net::Address> listen;  // port 0 picks one
  unsigned threads = 1;
  net::IoKind io = net::IoKind::automatic;
  http::ServerLimits limits;
  std::string congestion;       // of accepted connections; empty: the system's
  std::string tls_certificate;  // PEM files; both or neither
  std::string tls_key;
};

// Decides whether a new connection is spoken to; one that is not is reset at once.
class Doorkeeper {
 public:
  virtual ~Doorkeeper() = default;
  virtual bool admit() = 0;
};

class Server {
 public:
  // Listens, and answers from the moment this returns. Handler, observer, workers and doorkeeper outlive the server.
  static Checked<std::unique_ptr<Server>> start(const ServerOptions& options, http::Handler& handler,
                                                Workers& workers, http::Observer* observer = nullptr,
                                                Doorkeeper* doorkeeper = nullptr);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  // Stops at once.
  ~Server();

  // As bound, in the order of the options.
  const std::vector<net::Address>& addresses() const { return addresses_; }
  bool secure() const { return secure_; }
  net::IoKind io() const { return io_; }

  // Takes no more connections, ends idle ones, lets answers in flight end, and cuts what is left after `patience`.
  // Returns when all threads have ended; may be called once.
  void drain(Nanos patience);

 private:
  class Worker;
  Server();

  std::vector<net::Address> addresses_;
  std::vector<std::unique_ptr<Worker>> workers_;
  bool secure_ = false;
  net::IoKind io_ = net::IoKind::epoll;
};

}  // namespace plimsoll::server
