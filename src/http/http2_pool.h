// The connections of one thread to one origin that may speak HTTP/2, shared by its clients: each connection has as
// many seats as it may carry exchanges at once, and a client keeps its seat until the connection ends.
//
// Who finds no free seat opens a connection; those that come while it opens wait for it, up to its number of seats.
// Outlives its clients, and the runs of its loop in which they are used.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "http/connector.h"
#include "http/http2_connection.h"
#include "http/protocols.h"
#include "net/scope.h"

namespace plimsoll::http {

class Http2Pool {
 private:
  struct Entry;

 public:
  // `seats` a connection.
  Http2Pool(Protocols protocols, bool secure, int seats)
      : protocols_(protocols), secure_(secure), seats_(seats) {}
  Http2Pool(const Http2Pool&) = delete;
  Http2Pool& operator=(const Http2Pool&) = delete;

  // A place at a connection; given back when it is destroyed. Who sits at none has an empty seat.
  class Seat {
   public:
    Seat() = default;
    explicit Seat(std::shared_ptr<Entry> entry);
    Seat(Seat&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Seat& operator=(Seat&& other) noexcept;
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat() { leave(); }
    explicit operator bool() const { return entry_ != nullptr; }
    Http2Connection& connection() const;
    void leave();
    // Leaves, and nobody takes another seat there: the peer refused what it was asked.
    void abandon();

   private:
    std::shared_ptr<Entry> entry_;
  };

  struct Seated {
    Seat seat;
    // What this call opened. Its stream is left where the peer chose HTTP/1.1: then there is no seat.
    std::optional<Opened> opened;
  };
  // `most`: exchanges that a connection may carry, 0 for any number. Errors: the connector's, and `protocol` where
  // HTTP/2 is asked for and not agreed on.
  net::Task<Result<Seated>> take(net::Loop& loop, Connector& connector, net::Patience patience,
                                 std::uint64_t most);

 private:
  std::shared_ptr<Entry> vacant();
  net::Task<Result<Seated>> open(net::Loop& loop, Connector& connector, net::Patience patience,
                                 std::uint64_t most);
  static net::Task<void> drive(std::shared_ptr<Http2Connection> connection);

  Protocols protocols_;
  bool secure_;
  int seats_;
  bool chose_http1_ = false;  // the peer, the last time
  std::vector<std::shared_ptr<Entry>> entries_;
  net::TaskScope driving_;  // last: what runs in it goes first
};

}  // namespace plimsoll::http
