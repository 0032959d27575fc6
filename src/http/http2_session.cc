#include "http/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "http/http2_frames.h"

namespace plimsoll::http {
namespace {

constexpr std::size_t kFrameHead = 9;  // RFC 9113, section 4.1
constexpr Error kPeerClosed{ErrorKind::closed, 0, "the peer closed the connection"};

Http2Stream* stream_of(nghttp2_session* session, std::int32_t id) {
  return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
}

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

bool moves_nothing(const nghttp2_frame_hd& frame) {
  return frame.type != NGHTTP2_HEADERS && frame.type != NGHTTP2_CONTINUATION &&
         (frame.type != NGHTTP2_DATA || frame.length == 0);
}

}  // namespace

const char* http2_error_name(std::uint32_t code) {
  return nghttp2_http2_strerror(code);
}

// What nghttp2 calls. None of these may resume a coroutine or throw.
struct Http2Callbacks {
  static Http2Session& self(void* user) { return *static_cast<Http2Session*>(user); }

  static int begin_frame(nghttp2_session* session, const nghttp2_frame_hd* frame, void* user) {
    Http2Session& on = self(user);
    if (frame->type == NGHTTP2_HEADERS) on.head_bytes_ = 0;
    if (frame->type == NGHTTP2_HEADERS || frame->type == NGHTTP2_CONTINUATION)
      on.head_bytes_ += frame->length;
    if (on.head_bytes_ > 4ULL * on.settings_.max_header_list) {
      on.problem_ = "a head without end";
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (moves_nothing(*frame)) {
      if (++on.quiet_frames_ > Http2Session::kMostQuietFrames) {
        on.problem_ = "a flood of frames that move nothing";
        return NGHTTP2_ERR_CALLBACK_FAILURE;
      }
    } else {
      on.quiet_frames_ = 0;
    }
    if (Http2Stream* stream = stream_of(session, frame->stream_id)) {
      stream->frame_received(frame->length + kFrameHead, frame->type == NGHTTP2_DATA);
    }
    return 0;
  }

  static int begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    const std::int32_t id = frame->hd.stream_id;
    Http2Stream* stream = nullptr;
    if (frame->hd.type != NGHTTP2_HEADERS) {
      self(user).problem_ = "a push, which was switched off";
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      stream = self(user).opened_by_peer(id);
      if (stream == nullptr) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
        return 0;
      }
      nghttp2_session_set_stream_user_data(session, id, stream);
      stream->frame_received(frame->hd.length + kFrameHead, false);
    } else {
      stream = stream_of(session, id);
    }
    if (stream != nullptr) stream->fields_begin();
    return 0;
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t /*flags*/, void* /*user*/) {
    Http2Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr || stream->field(view(name, name_size), view(value, value_size))) return 0;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int data(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t id,
                  const std::uint8_t* bytes, std::size_t size, void* user) {
    if (Http2Stream* stream = stream_of(session, id)) {
      stream->data(view(bytes, size));
    } else if (!self(user).settings_.auto_window) {
      nghttp2_session_consume_connection(session, size);
    }
    return 0;
  }

  static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) self(user).going_away();
    if (frame->hd.type == NGHTTP2_RST_STREAM) self(user).reset_by_peer();
    Http2Stream* stream = frame->hd.stream_id == 0 ? nullptr : stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_RST_STREAM) stream->reset_by_peer();
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS) stream->fields_end(last);
    if (last) stream->received_whole();
    return 0;
  }

  static int invalid_frame(nghttp2_session* session, const nghttp2_frame* frame, int error, void* user) {
    self(user).last_invalid_ = nghttp2_strerror(error);
    if (Http2Stream* stream = stream_of(session, frame->hd.stream_id)) stream->malformed();
    return 0;
  }

  static int stream_closed(nghttp2_session* session, std::int32_t id, std::uint32_t code, void* /*user*/) {
    if (Http2Stream* stream = stream_of(session, id)) stream->closed(code);
    return 0;
  }

  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Session& on = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR &&
        on.problem_ == nullptr) {
      on.problem_ =
          on.last_invalid_ != nullptr ? on.last_invalid_ : http2_error_name(frame->goaway.error_code);
    }
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (Http2Stream* stream = stream_of(session, frame->hd.stream_id)) {
      stream->frame_sent(frame->hd.length + kFrameHead, true, on.batch_time());
    }
    return 0;
  }

  static int frame_not_sent(nghttp2_session* /*session*/, const nghttp2_frame* frame, int /*error*/,
                            void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS) self(user).not_sent(frame->hd.stream_id);
    return 0;
  }

  static int send_data(nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* head,
                       std::size_t size, nghttp2_data_source* /*source*/, void* user) {
    Http2Session& on = self(user);
    if (on.out_.size() >= Http2Session::kBatch) return NGHTTP2_ERR_WOULDBLOCK;
    Http2Stream* stream = stream_of(session, frame->hd.stream_id);
    on.quiet_frames_ = 0;
    const std::size_t before = on.out_.size();
    on.out_.append(view(head, kFrameHead));
    if (stream == nullptr || !stream->take_body(on.out_, size)) {
      on.out_.resize(before);
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    stream->frame_sent(size + kFrameHead, false, on.batch_time());
    return 0;
  }

  // As much as the windows let go in one frame.
  static ssize_t read_length(nghttp2_session* /*session*/, std::uint8_t /*type*/, std::int32_t /*id*/,
                             std::int32_t connection_window, std::int32_t stream_window,
                             std::uint32_t max_frame, void* /*user*/) {
    const std::int32_t window = std::min(connection_window, stream_window);
    constexpr std::int32_t kMost = 64 * 1024;
    return std::min(
        {window, kMost, static_cast<std::int32_t>(std::min<std::uint32_t>(max_frame, INT32_MAX))});
  }

  static nghttp2_session* open(Http2Session& on, Http2Session::Role role) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* option = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
      throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, invalid_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frame_not_sent);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, read_length);
    nghttp2_option_set_no_auto_window_update(option, on.settings_.auto_window ? 0 : 1);
    nghttp2_session* session = nullptr;
    const int made = role == Http2Session::Role::client
                         ? nghttp2_session_client_new2(&session, callbacks, &on, option)
                         : nghttp2_session_server_new2(&session, callbacks, &on, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    if (made != 0) throw std::bad_alloc();
    return session;
  }
};

ssize_t http2_read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* /*into*/, std::size_t most,
                        std::uint32_t* flags, nghttp2_data_source* /*source*/, void* /*user*/) {
  Http2Stream* stream = stream_of(session, id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const Http2Stream::Planned planned = stream->plan_body(most);
  if (planned.failed) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  if (planned.wait) return NGHTTP2_ERR_DEFERRED;
  if (planned.last) *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (planned.trailers) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  if (planned.size > 0) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  return static_cast<ssize_t>(planned.size);
}

Http2Session::Http2Session(Role role, std::unique_ptr<net::Stream> stream, const Http2Settings& settings)
    : settings_(settings), stream_(std::move(stream)), session_(Http2Callbacks::open(*this, role)) {
  std::array<nghttp2_settings_entry, 5> entries{
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings_.stream_window},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings_.max_frame},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings_.max_header_list},
      role == Role::client
          ? nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}
          : nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings_.max_streams},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(settings_.connection_window));
}

Http2Session::~Http2Session() {
  nghttp2_session_del(session_);
}

Instant Http2Session::batch_time() {
  if (batch_time_ == Instant{}) batch_time_ = now();
  return batch_time_;
}

void Http2Session::kick() {
  // While bytes are looked at, what they lead to is collected first.
  if (!receiving_ && !settling_) output_.pulse();
}

void Http2Session::settle_all() {
  if (std::exchange(settling_, true)) return;
  settle();
  settling_ = false;
}

void Http2Session::end(const Error& error) {
  if (std::exchange(ended_, true)) return;
  if (stream_->receiver() != nullptr || stream_->sender() != nullptr) stream_->abort(error);
  output_.pulse();
  lost(error);
}

void Http2Session::end_when_sent(const Error& error) {
  finishing_ = error;
  kick();
}

// Fills out_ with what is to be sent, up to a batch.
void Http2Session::collect() {
  batch_time_ = {};
  while (out_.size() < kBatch) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0 && problem_ == nullptr) problem_ = nghttp2_strerror(static_cast<int>(size));
    if (size <= 0) break;
    out_.append(view(bytes, static_cast<std::size_t>(size)));
  }
}

net::Task<void> Http2Session::send_all() {
  while (!ended_) {
    out_.clear();
    collect();
    // Streams end in sending too.
    settle_all();
    if (ended_) break;
    if (out_.empty()) collect();
    if (out_.empty()) {
      if (finishing_) {
        end(*finishing_);
        break;
      }
      co_await output_.wait();
      continue;
    }
    const auto sent = co_await stream_->send(out_, {}, send_patience());
    if (!sent) {
      send_failed_ = true;
      // The peer may have said why before it closed: what can still be received tells more than its reset.
      if (sent.error().kind != ErrorKind::reset) end(sent.error());
      co_return;
    }
  }
}

bool Http2Session::take(std::string_view bytes) {
  if (!std::exchange(greeted_, true) && bytes.starts_with("HTTP/1.")) {
    problem_ = "the peer answers in HTTP/1, it does not speak HTTP/2 here";
    return false;
  }
  receiving_ = true;
  const ssize_t taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  receiving_ = false;
  if (taken >= 0) return true;
  if (problem_ == nullptr) problem_ = nghttp2_strerror(static_cast<int>(taken));
  return false;
}

// Looks at what has come and at what that leads to; ends the connection where it is over.
void Http2Session::digest(std::string_view bytes) {
  received_at_ = now();
  const bool good = take(bytes);
  settle_all();
  kick();
  if (ended_ || (good && nghttp2_session_want_read(session_) != 0)) return;
  // It is over by the rules: after a GOAWAY of the peer's and the last answer, or since nghttp2 found a fault.
  if (good && problem_ == nullptr) return end_when_sent(kPeerClosed);
  end({ErrorKind::protocol, 0, problem_ != nullptr ? problem_ : "not HTTP/2"});
}

net::Task<void> Http2Session::receive_all() {
  while (!ended_) {
    const auto bytes = co_await stream_->receive(receive_patience());
    if (ended_) break;
    if (!bytes && expired(bytes.error())) {
      kick();
    } else if (!bytes || bytes->empty()) {
      end(bytes ? kPeerClosed : bytes.error());
    } else {
      digest(*bytes);
    }
  }
}

}  // namespace plimsoll::http
