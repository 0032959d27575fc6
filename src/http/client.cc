#include "http/client.h"

#include <utility>

namespace plimsoll::http {

void Client::describe(net::Stream& stream, std::string_view protocol) {
  peer_ = stream.peer().to_string();
  tls_description_ = stream.tls_description();
  protocol_ = protocol;
}

net::Task<Result<void>> Client::open(bool replaces_closed) {
  if (Http2Pool* pool = connector_.http2()) co_return co_await take_seat(*pool, replaces_closed);
  net::Patience patience = options_.connect_patience;
  auto opened = co_await connector_.open(loop_, patience);
  if (!opened) co_return opened.error();
  describe(*opened->stream, "HTTP/1.1");
  if (observer_ != nullptr) observer_->opened(opened->connect, opened->tls, replaces_closed);
  connection_ = std::make_unique<ClientConnection>(std::move(opened->stream));
  co_return ok();
}

net::Task<Result<void>> Client::take_seat(Http2Pool& pool, bool replaces_closed) {
  auto seated =
      co_await pool.take(loop_, connector_, options_.connect_patience, options_.requests_per_connection);
  if (!seated) co_return seated.error();
  auto& opened = seated->opened;
  if (observer_ != nullptr && opened) observer_->opened(opened->connect, opened->tls, replaces_closed);
  if (observer_ != nullptr && !opened) observer_->reused();
  if (opened && opened->stream != nullptr) {
    describe(*opened->stream, "HTTP/1.1");
    connection_ = std::make_unique<ClientConnection>(std::move(opened->stream));
    co_return ok();
  }
  seat_ = std::move(seated->seat);
  if (exchange_ == nullptr) exchange_ = std::make_unique<Http2Exchange>();
  describe(seat_.connection().stream(), "HTTP/2");
  co_return ok();
}

void Client::close() {
  seat_.leave();
  connection_.reset();
  closed_by_peer_ = false;
}

// What ended by our own wish was not closed by the peer.
void Client::discard() {
  closed_by_peer_ |= connection_ != nullptr || (seat_ && !seat_.connection().worn());
  seat_.leave();
  connection_.reset();
}

bool Client::may_send_again(const Error& error, int sent_before) const {
  const bool over_http2 = static_cast<bool>(seat_);
  if (over_http2 && exchange_->unprocessed()) return sent_before < kMostResent;
  if (sent_before > 0 || !on_used_connection_ || (over_http2 && !exchange_->connection_lost())) return false;
  const bool lost = error.kind == ErrorKind::closed || error.kind == ErrorKind::reset;
  return lost && !progress_.body_started && !progress_.answer_started;
}

// One frame for all of it: this is the path of every request.
net::Task<Result<Answer>> Client::exchange(const Request& request, BodySink* sink, net::Patience patience) {
  for (int sent = 0;; ++sent) {
    progress_ = {};
    on_used_connection_ = false;
    if (std::exchange(retire_, false)) close();
    if (connected()) {
      on_used_connection_ = (seat_ ? seat_.connection().exchanges() : connection_->exchanges()) > 0;
      if (observer_ != nullptr) observer_->reused();
    } else {
      discard();
      if (const auto opened = co_await open(closed_by_peer_); !opened) co_return opened.error();
      closed_by_peer_ = false;
      // A seat may be at a connection that others use already.
      on_used_connection_ = seat_ && seat_.connection().exchanges() > 0;
    }
    Result<Answer> answer;
    if (seat_) {
      answer = co_await seat_.connection().exchange(request, sink, patience, *exchange_);
    } else {
      answer = co_await connection_->exchange(request, sink, patience);
    }
    progress_ = seat_ ? exchange_->progress() : connection_->progress();
    if (answer) {
      // Closing on our side is no loss: the head of the answer is a view into the connection, so that goes only when
      // the next exchange begins.
      const bool worn = connection_ != nullptr && options_.requests_per_connection != 0 &&
                        connection_->exchanges() >= options_.requests_per_connection;
      retire_ = !options_.keep_alive || worn;
      co_return answer;
    }
    if (!may_send_again(answer.error(), sent)) co_return answer;
    closed_by_peer_ = true;
    seat_.abandon();
  }
}

}  // namespace plimsoll::http
