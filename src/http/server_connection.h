// The server's side of one HTTP/1.1 connection (RFC 9112): reads requests, calls the handler, sends its answers. Where
// the client asks for HTTP/2 (ALPN, or its preface in clear), it leaves all of that to an Http2ServerConnection.
//
// Keep-alive and pipelining; Expect: 100-continue, answered when the handler first reads the body; early answers
// (the rest of a small body is read and dropped, after a large one the connection ends); HEAD; HTTP/1.0; answers to
// bytes that are no request, then close. A TLS ClientHello on a plain port is closed at once. An idle connection
// holds no buffers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "http/request_parser.h"
#include "http/server.h"
#include "net/scope.h"
#include "net/stream.h"

namespace plimsoll::http {

struct ServerLimits {
  RequestLimits request = {};
  std::uint64_t max_body = UINT64_MAX;        // 413 above
  Nanos idle = std::chrono::seconds(75);      // between requests
  Nanos head = std::chrono::seconds(30);      // from a head's first byte to its last
  Nanos progress = std::chrono::seconds(60);  // without a byte moving, within bodies and answers
  std::uint64_t drop_unread = 256 * 1024;     // of a body that nobody read; above, the connection ends
  bool http2 = true;                          // is spoken, by ALPN and by prior knowledge
};

// What the connections of one loop share.
class ServerLoop {
 public:
  ServerLoop(net::Loop& loop, Handler& handler, const ServerLimits& limits, Observer* observer)
      : loop(loop), handler(handler), limits(limits), observer(observer) {}

  net::Loop& loop;
  Handler& handler;
  const ServerLimits& limits;
  Observer* observer;
  bool draining = false;  // answers say close, idle connections end
  std::uint64_t next_connection = 0;

  // "Date: ...\r\n", made once a second.
  std::string_view date_line();

 private:
  std::int64_t date_second_ = 0;
  std::string date_line_;
};

class Http2ServerConnection;

class ServerConnection final : public BodyReader {
 public:
  ServerConnection(ServerLoop& shared, std::unique_ptr<net::Stream> stream);
  ~ServerConnection() override;

  // Until the connection has ended.
  net::Task<void> run();

  // The server is about to end: between requests it ends now, else with the answers that are under way.
  void drain();

  net::Task<Result<std::string_view>> read() override;
  std::optional<std::uint64_t> length() const override;

 private:
  // Appends the head of the answer to out_. `length`: how the body is framed.
  void render_head(bool bodiless, Delivery::Framing framing);
  net::Task<bool> answer(Call& call);
  net::Task<bool> send_body(bool bodiless, Delivery::Framing framing);
  net::Task<bool> send_slowly(Payload body);
  net::Task<bool> send_chunked(Payload body);
  net::Task<bool> send_piece(Payload piece);
  net::Task<bool> drop_rest_of_body();
  net::Task<void> refuse(Fault fault);
  net::Task<void> speak_http1();
  net::Task<void> speak_http2(std::string received);
  net::Task<void> linger();
  bool take(const MessageStep& step, std::string_view bytes, bool from_pending);
  bool too_large();
  net::Patience progress() const { return {.idle = shared_.limits.progress}; }

  ServerLoop& shared_;
  std::unique_ptr<net::Stream> stream_;
  net::Address peer_;
  bool secure_;
  std::uint64_t number_;
  std::uint64_t requests_ = 0;
  RequestParser parser_;
  ServerAnswer answer_;
  std::string out_;
  std::string pending_;  // received, not parsed yet
  std::size_t pending_at_ = 0;
  std::string early_body_;  // came in one piece with the head
  bool early_body_given_ = true;
  bool continue_due_ = false;  // the client waits for "100 Continue"
  bool keep_ = true;
  bool idle_ = true;
  bool body_too_large_ = false;
  std::uint64_t body_sent_ = 0;
  std::unique_ptr<Http2ServerConnection> http2_;  // has the stream, once that is spoken
};

}  // namespace plimsoll::http
