#include "http/http2_connection.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "http/fields.h"
#include "http/http2_frames.h"
#include "net/loop.h"

namespace plimsoll::http {
namespace {

constexpr std::size_t kFrameHead = 9;  // RFC 9113, section 4.1
constexpr Error kUnprocessed{ErrorKind::reset, 0, "the peer refused the stream"};

// Fields that speak of a connection, which HTTP/2 has none of (RFC 9113, section 8.2.2), and those that we make.
bool is_left_out(std::string_view name) {
  constexpr std::array<std::string_view, 8> kLeftOut{
      "connection", "host", "content-length",  "keep-alive", "transfer-encoding",
      "upgrade",    "te",   "proxy-connection"};
  return std::ranges::any_of(kLeftOut, [name](std::string_view one) { return iequals(one, name); });
}

}  // namespace

// Waits until the exchange has ended.
struct Http2Exchange::Finished {
  Http2Exchange& state;
  bool await_ready() const noexcept { return state.done_; }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    state.waiting_ = handle;
    state.arm();
  }
  void await_resume() const noexcept { state.waiting_ = nullptr; }
};

Http2Exchange::~Http2Exchange() {
  if (connection_ != nullptr) connection_->forget(*this);
}

void Http2Exchange::begin(Http2Connection& connection, const Request& request, BodySink* sink,
                          const net::Patience& patience) {
  connection_ = &connection;
  id_ = 0;
  body_ = request.body;
  body_length_ = body_ != nullptr ? body_->length() : 0;
  if (body_length_ == 0U) body_ = nullptr;
  body_planned_ = 0;
  announced_ = 0;
  planned_ = {};
  sink_ = sink;
  patience_ = patience;
  moved_ = connection.stream().loop().now();
  text_.clear();
  places_.clear();
  head_.headers.clear();
  head_.status = 0;
  head_done_ = in_trailers_ = received_whole_ = reset_by_peer_ = done_ = unprocessed_ = connection_lost_ =
      false;
  sent_whole_ = body_ == nullptr;
  answer_ = {};
  progress_ = {.sent_first = now()};
  connection_bytes_ = connection.bytes_received();
  failure_.reset();
  result_ = {};
}

void Http2Exchange::arm() {
  Instant due = patience_.deadline;
  if (patience_.idle != Nanos::max()) due = std::min(due, moved_ + patience_.idle);
  if (due != kNever) connection_->stream().loop().timers().arm(*this, due);
}

void Http2Exchange::expired() {
  const Instant at = connection_->stream().loop().now();
  const bool late = patience_.deadline <= at;
  if (!late && moved_ + patience_.idle > at) {
    arm();
    return;
  }
  // A connection that has been silent all the while is no better for the next exchange.
  if (connection_->bytes_received() == connection_bytes_) connection_->retire();
  connection_->give_up(*this, {late ? patience_.deadline_kind : ErrorKind::timeout, 0, ""});
}

void Http2Exchange::finish(const Result<void>& result) {
  if (std::exchange(done_, true)) return;
  result_ = result;
  disarm();
  if (head_done_) progress_.status = head_.status;
}

void Http2Exchange::resume() {
  if (waiting_) std::exchange(waiting_, nullptr).resume();
}

void Http2Exchange::fields_begin() {
  if (done_) return;
  in_trailers_ = head_done_;
  list_size_ = 0;
  if (in_trailers_) return;
  text_.clear();
  places_.clear();
}

bool Http2Exchange::field(std::string_view name, std::string_view value) {
  if (done_) return true;
  list_size_ += name.size() + value.size() + 32;
  if (list_size_ > connection_->settings().max_header_list ||
      places_.size() >= connection_->settings().max_fields) {
    failure_ = Error{ErrorKind::protocol, 0, "the head is too large"};
    return false;
  }
  // Trailers are nobody's.
  if (in_trailers_) return true;
  places_.push_back({text_.size(), name.size(), text_.size() + name.size(), value.size()});
  text_.append(name).append(value);
  return true;
}

void Http2Exchange::fields_end(bool /*last*/) {
  if (done_ || in_trailers_) return;
  build_head();
  if (head_.status >= 200) {
    head_done_ = true;
  } else if (head_.status == 0 && !failure_) {
    failure_ = Error{ErrorKind::protocol, 0, "an answer without a status"};
  }
}

// nghttp2 has seen to it that :status is there, three digits, and that Content-Length is a number.
void Http2Exchange::build_head() {
  head_.status = 0;
  head_.headers.clear();
  head_.content_length.reset();
  for (const Place& place : places_) {
    const std::string_view name(text_.data() + place.name, place.name_size);
    const std::string_view value(text_.data() + place.value, place.value_size);
    if (name == ":status") {
      head_.status = static_cast<int>(parse_u64(value).value_or(0));
    } else {
      head_.headers.add(name, value);
      if (name == "content-length") head_.content_length = parse_length(value);
    }
  }
  head_.major_version = 2;
  head_.minor_version = 0;
  head_.reason = {};
  head_.framing = head_.content_length ? Framing::length : Framing::until_close;
  head_.transfer_coded = false;
  head_.keep_alive = true;
}

void Http2Exchange::data(std::string_view bytes) {
  if (done_) return;
  answer_.body_received += bytes.size();
  if (sink_ != nullptr) sink_->data(bytes);
}

void Http2Exchange::frame_received(std::size_t wire_bytes, bool data) {
  if (done_) return;
  if (data) announced_ += wire_bytes - kFrameHead;
  answer_.wire_received += wire_bytes;
  const Instant at = connection_->received_at();
  moved_ = answer_.last_byte = at;
  if (progress_.answer_started) return;
  progress_.answer_started = true;
  progress_.first_byte = at;
}

void Http2Exchange::frame_sent(std::size_t wire_bytes, bool head, Instant time) {
  if (done_) return;
  answer_.wire_sent += wire_bytes;
  if (head) progress_.sent_first = time;
  moved_ = time;
}

void Http2Exchange::received_whole() {
  if (done_) return;
  received_whole_ = true;
  if (sent_whole_ || head_.status < 300) return;
  // An answer that refuses ends the upload (RFC 9113, section 8.1). One that accepts early lets it go on.
  finish(ok());
  connection_->note_finished(*this);
}

// Also for what nghttp2 resets itself.
void Http2Exchange::malformed() {
  if (done_ || failure_) return;
  const bool cut = head_done_ && head_.content_length && announced_ < *head_.content_length;
  failure_ = cut ? Error{ErrorKind::short_body, 0, "the body ended before the length that was said"}
                 : Error{ErrorKind::protocol, 0, "a message that breaks HTTP/2's rules"};
}

void Http2Exchange::closed(std::uint32_t code) {
  if (done_) return;
  if (failure_) {
    finish(*failure_);
  } else if (received_whole_) {
    // A peer that has answered may say that it wants no more of the body (RFC 9113, section 8.1).
    finish(ok());
  } else if (code == NGHTTP2_REFUSED_STREAM) {
    unprocessed_ = true;
    finish(kUnprocessed);
  } else if (!reset_by_peer_) {
    malformed();
    finish(*failure_);
  } else {
    finish(Error{ErrorKind::reset, 0, http2_error_name(code)});
  }
  connection_->note_finished(*this);
}

// The error of an exchange whose connection has ended.
Error Http2Exchange::cut_off(const Error& error) const {
  if (failure_) return *failure_;
  if (error.kind != ErrorKind::closed) return error;
  if (head_done_) return {ErrorKind::short_body, 0, "the peer closed before the end of the body"};
  return {ErrorKind::closed, 0,
          progress_.answer_started ? "the peer closed within the head of its answer"
                                   : "the peer closed before it answered"};
}

Http2Stream::Planned Http2Exchange::plan_body(std::size_t most) {
  if (done_ || body_ == nullptr) return {.failed = true};
  planned_ = body_->piece(body_planned_).bytes.substr(0, most);
  body_planned_ += planned_.size();
  if (body_length_ && planned_.empty() && body_planned_ < *body_length_) {
    failure_ = Error{ErrorKind::short_body, 0, "the request's body is shorter than its length"};
    return {.failed = true};
  }
  const bool last = body_length_ ? body_planned_ >= *body_length_ : body_->piece(body_planned_).bytes.empty();
  if (last && planned_.empty()) sent_whole_ = true;
  return {.size = planned_.size(), .last = last};
}

bool Http2Exchange::take_body(std::string& out, std::size_t size) {
  if (done_) return false;
  out.append(planned_.substr(0, size));
  answer_.body_sent += size;
  progress_.body_started = true;
  const bool last =
      body_length_ ? answer_.body_sent >= *body_length_ : body_->piece(body_planned_).bytes.empty();
  if (last) sent_whole_ = true;
  return true;
}

Http2Connection::Http2Connection(std::unique_ptr<net::Stream> stream, bool secure, std::uint64_t most)
    : Http2Session(Role::client, std::move(stream), {}), secure_(secure), most_(most) {}

Http2Connection::~Http2Connection() {
  for (Http2Exchange* state : active_) state->connection_ = nullptr;
}

void Http2Connection::retire() {
  retired_ = true;
  end_if_idle();
}

void Http2Connection::end_if_idle() {
  if (active_.empty() && !usable() && !ended())
    end({ErrorKind::cancelled, 0, "the connection is no longer used"});
}

Result<void> Http2Connection::submit(const Request& request, Http2Exchange& state) {
  constexpr std::size_t kMostFields = 128;
  std::array<nghttp2_nv, kMostFields> fields;
  std::size_t count = 0;
  const std::string_view method =
      request.method == Method::other ? request.method_text : name(request.method);
  fields[count++] = http2_field(":method", method);
  fields[count++] = http2_field(":scheme", secure_ ? "https" : "http");
  fields[count++] = http2_field(":authority", request.authority);
  fields[count++] = http2_field(":path", request.target);
  for (const HeaderView& field : request.headers) {
    if (is_left_out(field.name)) continue;
    if (count == kMostFields - 1) return Error{ErrorKind::protocol, 0, "a request with too many fields"};
    fields[count++] = http2_field(field.name, field.value);
  }
  if (request.body != nullptr && state.body_length_) {
    length_text_ = fmt::format("{}", *state.body_length_);
    fields[count++] = http2_field("content-length", length_text_);
  }
  nghttp2_data_provider provider{.source = {.ptr = nullptr}, .read_callback = http2_read_body};
  const std::int32_t id =
      nghttp2_submit_request(native(), nullptr, fields.data(), count,
                             state.body_ != nullptr ? &provider : nullptr, static_cast<Http2Stream*>(&state));
  if (id < 0) {
    // No stream numbers are left, or the peer goes away: another connection has them.
    retired_ = true;
    state.unprocessed_ = true;
    return kUnprocessed;
  }
  state.id_ = id;
  return ok();
}

net::Task<Result<Answer>> Http2Connection::exchange(const Request& request, BodySink* sink,
                                                    net::Patience patience, Http2Exchange& state) {
  state.begin(*this, request, sink, patience);
  stream().expect_bulk(request.bulk_answer);
  state.index_ = active_.size();
  active_.push_back(&state);
  ++begun_;
  if (const auto submitted = submit(request, state); !submitted) {
    forget(state);
    co_return submitted.error();
  }
  kick();
  co_await Http2Exchange::Finished{state};
  if (!state.result_) co_return state.result_.error();
  ++ended_well_;
  Answer answer = state.answer_;
  answer.head = &state.head_;
  answer.sent_first = state.progress_.sent_first;
  answer.first_byte = state.progress_.first_byte;
  answer.early = !state.sent_whole_;
  co_return answer;
}

void Http2Connection::forget(Http2Exchange& state) {
  if (state.connection_ == nullptr) return;
  if (state.id_ != 0 && !ended()) nghttp2_session_set_stream_user_data(native(), state.id_, nullptr);
  std::ranges::replace(finished_, &state, nullptr);
  state.connection_ = nullptr;
  active_.back()->index_ = state.index_;
  active_[state.index_] = active_.back();
  active_.pop_back();
}

// Called within nghttp2: the exchange is resumed in settle().
void Http2Connection::note_finished(Http2Exchange& state) {
  finished_.push_back(&state);
}

void Http2Connection::give_up(Http2Exchange& state, const Error& error) {
  if (!ended()) nghttp2_submit_rst_stream(native(), NGHTTP2_FLAG_NONE, state.id_, NGHTTP2_CANCEL);
  state.finish(error);
  forget(state);
  kick();
  end_if_idle();
  state.resume();
}

void Http2Connection::settle() {
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    Http2Exchange* state = std::exchange(finished_[i], nullptr);
    if (state == nullptr) continue;
    const bool unsent = state->result_ && !state->sent_whole_;
    if (unsent) nghttp2_submit_rst_stream(native(), NGHTTP2_FLAG_NONE, state->id_, NGHTTP2_NO_ERROR);
    forget(*state);
    state->resume();
  }
  finished_.clear();
  end_if_idle();
}

void Http2Connection::not_sent(std::int32_t id) {
  const auto at = std::ranges::find(active_, id, &Http2Exchange::id_);
  if (at == active_.end()) return;
  (*at)->unprocessed_ = true;
  (*at)->finish(kUnprocessed);
  note_finished(**at);
}

void Http2Connection::lost(const Error& error) {
  while (!active_.empty()) {
    Http2Exchange& state = *active_.back();
    if (!state.done_) {
      state.connection_lost_ = true;
      state.finish(state.received_whole_ ? ok() : Result<void>(state.cut_off(error)));
    }
    forget(state);
    state.resume();
  }
}

}  // namespace plimsoll::http
