// A client of one origin: opens a connection when it needs one, keeps it, and replaces it when the peer closed it.
// Over HTTP/2 it has a seat at a connection that the clients of its thread share.
//
// One exchange at a time; belongs to one worker. What it did is told to an observer, for the result record.
#pragma once

#include <memory>
#include <string>

#include "http/client_connection.h"
#include "http/connector.h"
#include "http/exchange.h"
#include "http/http2_pool.h"
#include "net/loop.h"

namespace plimsoll::http {

// What became of connections; called on the loop's thread.
class ConnectionObserver {
 public:
  virtual ~ConnectionObserver() = default;
  // `replaces_closed`: in place of one that the peer closed, announced or not.
  virtual void opened(Nanos connect, Nanos tls, bool replaces_closed) = 0;
  virtual void reused() = 0;
};

struct ClientOptions {
  net::Patience connect_patience{.idle = std::chrono::seconds(60)};
  bool keep_alive = true;                     // false: the connection is closed after each exchange
  std::uint64_t requests_per_connection = 0;  // 0: as many as the peer takes
};

class Client {
 public:
  // All references outlive the client; the observer may be null.
  Client(net::Loop& loop, Connector& connector, ClientOptions options, ConnectionObserver* observer)
      : loop_(loop), connector_(connector), options_(options), observer_(observer) {}

  // As ClientConnection::exchange. A request on a reused connection that died before any byte of its body was sent
  // and before any answer came is sent once more on a new one, and counted as a reconnection (trap 16). So is, up to
  // kMostResent times, one that an HTTP/2 peer says it did not process (RFC 9113, section 8.7).
  net::Task<Result<Answer>> exchange(const Request& request, BodySink* sink, net::Patience patience);

  // Opens the connection ahead of the first exchange.
  net::Task<Result<void>> connect() { return open(false); }
  bool connected() const { return seated() || (connection_ != nullptr && connection_->reusable()); }
  void close();
  static constexpr int kMostResent = 3;

  // Of the last exchange, for what decides about retries.
  const Progress& progress() const { return progress_; }
  // The peer of the last connection: "127.0.0.1:5000"; empty before the first.
  const std::string& peer() const { return peer_; }
  const std::string& tls_description() const { return tls_description_; }
  // Of the last connection: "HTTP/1.1", "HTTP/2".
  std::string_view protocol() const { return protocol_; }
  std::string failure() const { return connector_.failure(); }
  net::Loop& loop() { return loop_; }

 private:
  net::Task<Result<void>> open(bool replaces_closed);
  net::Task<Result<void>> take_seat(Http2Pool& pool, bool replaces_closed);
  void describe(net::Stream& stream, std::string_view protocol);
  bool seated() const { return seat_ && seat_.connection().usable(); }
  bool may_send_again(const Error& error, int sent_before) const;
  // Gives up a connection that can't be used any more.
  void discard();

  net::Loop& loop_;
  Connector& connector_;
  ClientOptions options_;
  ConnectionObserver* observer_;
  std::unique_ptr<ClientConnection> connection_;
  std::unique_ptr<Http2Exchange> exchange_;  // on seat_'s connection; made when one is first taken
  Http2Pool::Seat seat_;
  Progress progress_;
  std::string peer_;
  std::string tls_description_;
  std::string_view protocol_ = "HTTP/1.1";
  bool closed_by_peer_ = false;  // how the last connection ended
  // The last exchange went over a connection that had served before: its loss may be an idle timeout of the peer.
  bool on_used_connection_ = false;
  bool retire_ = false;  // the connection is to be closed before the next exchange
};

}  // namespace plimsoll::http
