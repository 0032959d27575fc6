#include "http/client.h"

#include <utility>

namespace plimsoll::http {

net::Task<Result<void>> Client::open(bool replaces_closed) {
  net::Patience patience = options_.connect_patience;
  auto opened = co_await connector_.open(loop_, patience);
  if (!opened) co_return opened.error();
  peer_ = opened->stream->peer().to_string();
  tls_description_ = opened->stream->tls_description();
  if (observer_ != nullptr) observer_->opened(opened->connect, opened->tls, replaces_closed);
  connection_ = std::make_unique<ClientConnection>(std::move(opened->stream));
  co_return ok();
}

void Client::close() {
  connection_.reset();
  closed_by_peer_ = false;
}

// One frame for all of it: this is the path of every request.
net::Task<Result<Answer>> Client::exchange(const Request& request, BodySink* sink, net::Patience patience) {
  for (bool repeated = false;; repeated = true) {
    progress_ = {};
    on_used_connection_ = false;
    if (std::exchange(retire_, false)) close();
    if (connection_ != nullptr && connection_->reusable()) {
      on_used_connection_ = connection_->exchanges() > 0;
      if (observer_ != nullptr) observer_->reused();
    } else {
      if (connection_ != nullptr) closed_by_peer_ = true;
      connection_.reset();
      if (const auto opened = co_await open(closed_by_peer_); !opened) co_return opened.error();
      closed_by_peer_ = false;
    }
    auto answer = co_await connection_->exchange(request, sink, patience);
    progress_ = connection_->progress();
    if (answer) {
      // Closing on our side is no loss: the head of the answer is a view into the connection, so that goes only when
      // the next exchange begins.
      const bool worn = options_.requests_per_connection != 0 &&
                        connection_->exchanges() >= options_.requests_per_connection;
      retire_ = !options_.keep_alive || worn;
      co_return answer;
    }
    const ErrorKind kind = answer.error().kind;
    const bool lost = kind == ErrorKind::closed || kind == ErrorKind::reset;
    const bool untouched = !progress_.body_started && !progress_.answer_started;
    if (repeated || !on_used_connection_ || !lost || !untouched) co_return answer;
    closed_by_peer_ = true;
  }
}

}  // namespace plimsoll::http
