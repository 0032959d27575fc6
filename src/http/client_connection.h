// The client's side of one HTTP/1.1 connection: one exchange at a time (RFC 9112).
//
// It keeps receiving while it sends, so that an early final answer (413 during an upload) is seen, recorded and
// ends the sending (RFC 9112, section 9.5; trap 22). What it allocates is kept for the next exchange.
#pragma once

#include <memory>
#include <string>

#include "http/exchange.h"
#include "http/response_parser.h"
#include "net/stream.h"
#include "net/task.h"

namespace plimsoll::http {

class ClientConnection {
 public:
  explicit ClientConnection(std::unique_ptr<net::Stream> stream);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Sends the request and receives its answer whole. Without a sink the body is discarded, without copying it
  // where the transport can. On failure the connection is of no further use, and progress() says how far it came.
  net::Task<Result<Answer>> exchange(const Request& request, BodySink* sink, net::Patience patience);

  // Another exchange may follow: the last one ended cleanly, and neither side said that it would close.
  bool reusable() const { return reusable_; }
  // Looks, without waiting, whether the peer has closed the idle connection (or sent what nobody asked for).
  bool closed_by_peer() { return !reusable_ || stream_->has_news(); }
  // Whether any exchange has ended well here: a failure on a fresh connection is an error, on a used one perhaps
  // only the peer's idle timeout.
  std::uint64_t exchanges() const { return exchanges_; }
  const Progress& progress() const { return progress_; }
  net::Stream& stream() { return *stream_; }

 private:
  struct Upload;
  net::Task<Result<Answer>> exchange_with_body(const Request& request, BodySink* sink,
                                               net::Patience patience);
  net::Task<void> send_request(const RequestBody& body, net::Patience patience, Upload& upload);
  net::Task<Result<void>> send_pieces(const RequestBody& body, net::Patience patience, Upload& upload);
  net::Task<Result<void>> receive_answer(BodySink* sink, net::Patience patience, const Upload* upload,
                                         Answer& answer);
  Result<void> took(const Result<std::string_view>& bytes, BodySink* sink, Answer& answer);
  Result<void> take(std::string_view bytes, BodySink* sink);
  void begin(const Request& request);
  void render(const Request& request);
  Result<Answer> finish(Answer answer, const net::Traffic& before);
  Error fail(const Error& error);

  std::unique_ptr<net::Stream> stream_;
  ResponseParser parser_;
  std::string head_;  // of the request
  std::string_view head_view_;
  Progress progress_;
  std::uint64_t exchanges_ = 0;
  bool reusable_ = true;
};

}  // namespace plimsoll::http
