#include "http/http2_pool.h"

#include <utility>

namespace plimsoll::http {

struct Http2Pool::Entry {
  std::shared_ptr<Http2Connection> connection;  // null while it opens, and where that failed
  int taken = 0;
  bool opening = true;
  bool refuses = false;  // takes no more of what it is asked already
  net::Event opened;
  std::optional<Error> failure;

  bool over() const { return !opening && (connection == nullptr || !connection->usable()); }
};

Http2Pool::Seat::Seat(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {
  ++entry_->taken;
}

Http2Pool::Seat& Http2Pool::Seat::operator=(Seat&& other) noexcept {
  if (this != &other) {
    leave();
    entry_ = std::exchange(other.entry_, nullptr);
  }
  return *this;
}

Http2Connection& Http2Pool::Seat::connection() const {
  return *entry_->connection;
}

void Http2Pool::Seat::leave() {
  const auto entry = std::exchange(entry_, nullptr);
  // A connection that nobody sits at is closed.
  if (entry != nullptr && --entry->taken == 0 && entry->connection != nullptr) entry->connection->retire();
}

void Http2Pool::Seat::abandon() {
  if (entry_ != nullptr) entry_->refuses = true;
  leave();
}

std::shared_ptr<Http2Pool::Entry> Http2Pool::vacant() {
  std::erase_if(entries_, [](const auto& entry) { return entry->over(); });
  for (const auto& entry : entries_) {
    if (entry->taken < seats_ && !entry->refuses && !(entry->opening && chose_http1_)) return entry;
  }
  return nullptr;
}

net::Task<Result<Http2Pool::Seated>> Http2Pool::take(net::Loop& loop, Connector& connector,
                                                     net::Patience patience, std::uint64_t most) {
  for (auto entry = vacant(); entry != nullptr; entry = vacant()) {
    Seat seat(entry);
    if (!entry->opened.is_open()) co_await entry->opened.wait();
    if (entry->failure) co_return *entry->failure;
    if (!entry->over()) co_return Seated{std::move(seat), std::nullopt};
  }
  co_return co_await open(loop, connector, patience, most);
}

net::Task<Result<Http2Pool::Seated>> Http2Pool::open(net::Loop& loop, Connector& connector,
                                                     net::Patience patience, std::uint64_t most) {
  const auto entry = std::make_shared<Entry>();
  entries_.push_back(entry);
  Seated seated{Seat(entry), std::nullopt};
  auto opened = co_await connector.open(loop, patience);
  const bool agreed = opened && (secure_ ? opened->stream->alpn() == "h2" : protocols_ == Protocols::http2);
  if (!opened) {
    entry->failure = opened.error();
  } else if (agreed) {
    entry->connection = std::make_shared<Http2Connection>(std::move(opened->stream), secure_, most);
    driving_.spawn(drive(entry->connection));
    chose_http1_ = false;
  } else if (protocols_ == Protocols::http2) {
    entry->failure = Error{ErrorKind::protocol, 0, "the peer does not agree on HTTP/2 (ALPN)"};
  } else {
    chose_http1_ = true;
    seated.seat.leave();
  }
  entry->opening = false;
  entry->opened.open();
  if (entry->failure) co_return *entry->failure;
  seated.opened = std::move(*opened);
  co_return std::move(seated);
}

net::Task<void> Http2Pool::drive(std::shared_ptr<Http2Connection> connection) {
  net::TaskScope sending;
  sending.spawn(connection->send_all());
  co_await connection->receive_all();
  co_await sending.join();
}

}  // namespace plimsoll::http
