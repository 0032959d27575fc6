#include "http/http2_server_connection.h"

#include <algorithm>
#include <utility>

#include "http/http2_frames.h"
#include "net/loop.h"

namespace plimsoll::http {
namespace {

using namespace std::chrono_literals;

constexpr Http2Settings kServerSettings{.stream_window = 16 << 20,
                                        .connection_window = 16 << 20,
                                        .max_frame = 64 * 1024,
                                        .max_streams = Http2ServerConnection::kMostStreams,
                                        .auto_window = false};

}  // namespace

Http2ServerConnection::Http2ServerConnection(ServerLoop& shared, std::unique_ptr<net::Stream> stream,
                                             std::uint64_t number)
    : Http2Session(Role::server, std::move(stream), kServerSettings),
      shared_(shared),
      peer_(Http2Session::stream().peer()),
      secure_(!Http2Session::stream().tls_description().empty()),
      number_(number),
      reset_time_(shared.loop.now()) {}

Http2ServerConnection::~Http2ServerConnection() {
  // While the lists that they take themselves out of are there.
  beginning_.clear();
}

net::Task<void> Http2ServerConnection::run(std::string received) {
  net::TaskScope sending;
  sending.spawn(send_all());
  if (!received.empty()) digest(received);
  co_await receive_all();
  co_await answering_.join();
  co_await sending.join();
  co_await linger();
}

// So that a GOAWAY is not lost to the reset that closing on unread bytes causes.
net::Task<void> Http2ServerConnection::linger() {
  if (stream().aborted() != nullptr) co_return;
  stream().shutdown_send();
  constexpr std::uint64_t kMost = 16 << 20;
  const net::Patience patience{.idle = 1s, .deadline = shared_.loop.now() + 3s};
  for (std::uint64_t taken = 0; taken < kMost;) {
    const auto got = co_await stream().discard(1 << 20, patience);
    if (!got || *got == 0) co_return;
    taken += *got;
  }
}

bool Http2ServerConnection::expired(const Error& error) {
  if (error.kind != ErrorKind::timeout && error.kind != ErrorKind::deadline) return false;
  nghttp2_submit_goaway(native(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(native()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  flush();
  return false;
}

void Http2ServerConnection::drain() {
  if (std::exchange(draining_, true) || ended()) return;
  nghttp2_submit_goaway(native(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(native()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  flush();
  ended_one();
}

net::Patience Http2ServerConnection::receive_patience() {
  if (!beginning_.empty()) return {.deadline = head_began_ + shared_.limits.head};
  // Streams have limits of their own.
  if (!running_.empty()) return {};
  return {.idle = shared_.limits.idle};
}

Http2Stream* Http2ServerConnection::opened_by_peer(std::int32_t id) {
  if (draining_ || beginning_.size() + running_.size() >= 2ULL * kMostStreams) return nullptr;
  if (beginning_.empty()) head_began_ = shared_.loop.now();
  beginning_.push_back(std::make_unique<Http2ServerStream>(*this, id));
  return beginning_.back().get();
}

void Http2ServerConnection::reset_by_peer() {
  const Instant at = shared_.loop.now();
  reset_credit_ = std::min(kResetBurst, reset_credit_ + seconds(at - reset_time_) * kResetsPerSecond) - 1;
  reset_time_ = at;
  if (reset_credit_ < 0) nghttp2_session_terminate_session(native(), NGHTTP2_ENHANCE_YOUR_CALM);
}

void Http2ServerConnection::head_complete(Http2ServerStream& stream) {
  complete_.push_back(&stream);
}

void Http2ServerConnection::settle() {
  for (std::size_t i = 0; i < complete_.size(); ++i) {
    const auto at = std::ranges::find(beginning_, complete_[i], &std::unique_ptr<Http2ServerStream>::get);
    if (at == beginning_.end()) continue;
    auto stream = std::move(*at);
    beginning_.erase(at);
    running_.push_back(stream.get());
    answering_.spawn(answer(std::move(stream)));
  }
  complete_.clear();
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    if (Http2ServerStream* stream = std::exchange(touched_[i], nullptr)) stream->settle();
  }
  touched_.clear();
  // Whose head will never be complete.
  std::erase_if(beginning_, [](const auto& stream) { return stream->closed_by_peer(); });
}

net::Task<void> Http2ServerConnection::answer(std::unique_ptr<Http2ServerStream> stream) {
  if (ended()) co_return;
  Call call{.request = stream->head(),
            .body = *stream,
            .answer = stream->answer(),
            .loop = shared_.loop,
            .peer = peer_,
            .draining = shared_.draining,
            .secure = secure_,
            .connection = number_,
            .request_index = requests_++};
  const Instant start = shared_.observer != nullptr ? now() : Instant{};
  if (stream->refusal() != 0) {
    call.answer.status = stream->refusal();
  } else if (!stream->too_large()) {
    co_await shared_.handler.handle(call);
  }
  if (stream->refusal() == 0 && stream->too_large()) {
    call.answer.clear();
    call.answer.status = 413;
  }
  const bool sent = co_await stream->send_answer();
  if (shared_.observer != nullptr) {
    shared_.observer->served({.call = call,
                              .body_received = stream->body_received(),
                              .body_sent = stream->body_sent(),
                              .duration = now() - start,
                              .complete = sent});
  }
  const bool last = call.answer.close;
  // The rest of a request that has been answered is of no use (RFC 9113, section 8.1).
  if (!ended() && !stream->closed_by_peer() && !stream->received()) {
    nghttp2_submit_rst_stream(native(), NGHTTP2_FLAG_NONE, stream->id(), NGHTTP2_NO_ERROR);
  }
  stream.reset();
  flush();
  if (last) drain();
  ended_one();
}

void Http2ServerConnection::detach(Http2ServerStream& stream) {
  nghttp2_session_set_stream_user_data(native(), stream.id(), nullptr);
  if (stream.unread() > 0) nghttp2_session_consume_connection(native(), stream.unread());
  std::erase(running_, &stream);
  std::ranges::replace(touched_, &stream, nullptr);
  std::ranges::replace(complete_, &stream, nullptr);
}

void Http2ServerConnection::ended_one() {
  if (!running_.empty() || ended()) return;
  const bool left = nghttp2_session_want_read(native()) == 0 && nghttp2_session_want_write(native()) == 0;
  if ((draining_ || left) && beginning_.empty()) {
    end_when_sent({ErrorKind::cancelled, 0, "the server ends"});
  } else if (stream().receiver() != nullptr) {
    stream().receiver()->limit(receive_patience());
  }
}

void Http2ServerConnection::lost(const Error& error) {
  if (error.kind == ErrorKind::protocol && shared_.observer != nullptr) shared_.observer->malformed(0);
  for (Http2ServerStream* stream : running_) {
    stream->lost();
    touched_.push_back(stream);
  }
  settle();
}

}  // namespace plimsoll::http
