#include "http/http2_server_stream.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "http/fields.h"
#include "http/http2_frames.h"
#include "http/http2_server_connection.h"

namespace plimsoll::http {
namespace {

constexpr Error kTooLarge{ErrorKind::protocol, 413, "the body is too large"};

bool never_has_body(int status) {
  return status == 204 || status == 304 || status < 200;
}

// Calls take(name, value) for each line of "Name: value\r\n".
template <class Take>
void for_each_line(std::string_view lines, Take&& take) {
  while (!lines.empty()) {
    const auto end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    const auto colon = line.find(':');
    if (colon != std::string_view::npos) take(line.substr(0, colon), trim(line.substr(colon + 1)));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
  }
}

bool speaks_of_connection(std::string_view name) {
  return iequals(name, "connection") || iequals(name, "keep-alive") || iequals(name, "transfer-encoding") ||
         iequals(name, "upgrade");
}

}  // namespace

Http2ServerStream::~Http2ServerStream() {
  connection_.detach(*this);
}

void Http2ServerStream::fields_begin() {
  list_size_ = 0;
}

bool Http2ServerStream::field(std::string_view name, std::string_view value) {
  list_size_ += name.size() + value.size() + 32;
  // Trailers are nobody's.
  if (head_done_) return list_size_ <= connection_.limits().max_header_list;
  if (list_size_ > connection_.limits().max_header_list ||
      places_.size() >= connection_.limits().max_fields) {
    refusal_ = 431;
    return true;
  }
  places_.push_back({text_.size(), name.size(), text_.size() + name.size(), value.size()});
  text_.append(name).append(value);
  return true;
}

void Http2ServerStream::fields_end(bool last) {
  if (std::exchange(head_done_, true)) return;
  build_head(last);
  connection_.head_complete(*this);
}

// nghttp2 has checked what RFC 9113, section 8.3, asks of the pseudo fields.
void Http2ServerStream::build_head(bool last) {
  head_.major_version = 2;
  head_.keep_alive = true;
  std::string_view target;
  for (const Place& place : places_) {
    const std::string_view name(text_.data() + place.name, place.name_size);
    const std::string_view value(text_.data() + place.value, place.value_size);
    if (name == ":method") {
      head_.method = parse_method(value);
      head_.method_text = value;
    } else if (name == ":path") {
      target = value;
    } else if (name == ":authority") {
      head_.authority = value;
    } else if (!name.starts_with(':')) {
      head_.headers.add(name, value);
      if (name == "host" && head_.authority.empty()) head_.authority = value;
      if (name == "content-length") head_.content_length = parse_length(value);
      if (name == "expect") head_.expect_continue = iequals(value, "100-continue");
    }
  }
  if (last) {
    head_.content_length.reset();
  } else {
    head_.framing = head_.content_length ? Framing::length : Framing::chunked;
  }
  continue_due_ = head_.expect_continue && !last;
  take_target(target);
}

void Http2ServerStream::take_target(std::string_view target) {
  head_.target = target;
  if (head_.method == Method::connect) {
    refusal_ = 501;
  } else if (target == "*") {
    head_.form = TargetForm::asterisk;
    head_.path = target;
  } else if (target.size() > connection_.shared().limits.request.max_target) {
    refusal_ = 414;
  } else if (refusal_ == 0 && (!target.starts_with('/') || target.find('#') != std::string_view::npos)) {
    refusal_ = 400;
  } else {
    const auto mark = target.find('?');
    head_.path = target.substr(0, mark);
    if (mark != std::string_view::npos) head_.query = target.substr(mark + 1);
  }
}

void Http2ServerStream::data(std::string_view bytes) {
  body_received_ += bytes.size();
  inbox_ += bytes;
  touch();
}

void Http2ServerStream::received_whole() {
  received_ = true;
  touch();
}

void Http2ServerStream::closed(std::uint32_t /*code*/) {
  closed_ = true;
  touch();
}

void Http2ServerStream::frame_sent(std::size_t /*wire_bytes*/, bool head, Instant time) {
  moved_ = time;
  if (!head || !head_only_) return;
  sent_ = true;
  touch();
}

bool Http2ServerStream::too_large() const {
  return body_received_ > connection_.shared().limits.max_body ||
         head_.content_length.value_or(0) > connection_.shared().limits.max_body;
}

std::optional<std::uint64_t> Http2ServerStream::length() const {
  if (head_.framing == Framing::none) return 0;
  return head_.content_length;
}

void Http2ServerStream::touch() {
  moved_ = connection_.shared().loop.now();
  if (!std::exchange(touched_, true)) connection_.touch(*this);
}

void Http2ServerStream::settle() {
  touched_ = false;
  changed_.pulse();
}

void Http2ServerStream::expired() {
  const Instant due = moved_ + connection_.shared().limits.progress;
  if (due > connection_.shared().loop.now()) {
    connection_.shared().loop.timers().arm(*this, due);
    return;
  }
  late_ = true;
  changed_.pulse();
}

net::Task<bool> Http2ServerStream::changed() {
  moved_ = connection_.shared().loop.now();
  connection_.shared().loop.timers().arm(*this, moved_ + connection_.shared().limits.progress);
  co_await changed_.wait();
  disarm();
  co_return !late_;
}

net::Task<Result<std::string_view>> Http2ServerStream::read() {
  for (;;) {
    if (too_large()) co_return kTooLarge;
    if (!inbox_.empty()) {
      given_.clear();
      given_.swap(inbox_);
      // The peer may send as much again while this is worked on.
      nghttp2_session_consume(connection_.nghttp2(), id_, given_.size());
      connection_.flush();
      co_return std::string_view(given_);
    }
    if (received_) co_return std::string_view{};
    if (closed_) co_return Error{ErrorKind::short_body, 0, "the client closed within its request"};
    if (std::exchange(continue_due_, false)) {
      const nghttp2_nv status = http2_field(":status", "100");
      nghttp2_submit_headers(connection_.nghttp2(), NGHTTP2_FLAG_NONE, id_, nullptr, &status, 1, nullptr);
      connection_.flush();
    }
    if (!co_await changed()) co_return Error{ErrorKind::timeout, 0, "no more of the body came"};
  }
}

bool Http2ServerStream::submit_head(bool bodiless) {
  const Delivery* delivery = answer_.delivery.get();
  const bool says_length = (delivery == nullptr || delivery->framing == Delivery::Framing::length) &&
                           !never_has_body(answer_.status) &&
                           !(bodiless && delivery != nullptr && delivery->no_length);
  const std::string status = fmt::format("{}", answer_.status);
  const std::string length = fmt::format("{}", answer_.body.size);
  std::vector<nghttp2_nv> fields{http2_field(":status", status)};
  const auto add = [&fields](std::string_view name, std::string_view value) {
    if (!speaks_of_connection(name)) fields.push_back(http2_field(name, value));
  };
  for_each_line(connection_.shared().date_line(), add);
  for_each_line(answer_.fields(), add);
  if (says_length) add("content-length", length);
  const nghttp2_data_provider provider{.source = {.ptr = nullptr}, .read_callback = http2_read_body};
  const bool has_body = to_send_ > 0 || cut_ || (delivery != nullptr && !delivery->trailers.empty());
  head_only_ = !has_body;
  return nghttp2_submit_response(connection_.nghttp2(), id_, fields.data(), fields.size(),
                                 has_body ? &provider : nullptr) == 0;
}

void Http2ServerStream::submit_trailers() {
  std::vector<nghttp2_nv> fields;
  for_each_line(answer_.delivery->trailers, [&fields](std::string_view name, std::string_view value) {
    fields.push_back(http2_field(name, value));
  });
  nghttp2_submit_trailer(connection_.nghttp2(), id_, fields.data(), fields.size());
}

net::Task<bool> Http2ServerStream::send_answer() {
  if (closed_) co_return false;
  const Delivery* delivery = answer_.delivery.get();
  const bool bodiless = head_.method == Method::head || never_has_body(answer_.status);
  to_send_ = bodiless ? 0 : answer_.body.size;
  if (delivery != nullptr && delivery->reset && delivery->stop_after == 0U) {
    nghttp2_submit_rst_stream(connection_.nghttp2(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_INTERNAL_ERROR);
    connection_.flush();
    co_return false;
  }
  if (delivery != nullptr && !bodiless && delivery->stop_after && *delivery->stop_after < to_send_) {
    to_send_ = *delivery->stop_after;
    cut_ = true;
  }
  const bool slow = delivery != nullptr && delivery->bytes_per_second > 0 && to_send_ > 0;
  if (slow) allowed_ = std::max<std::uint64_t>(1, delivery->bytes_per_second / 10);
  if (!submit_head(bodiless)) co_return false;
  connection_.flush();
  if (slow) co_await release_slowly();
  while (!sent_ && !closed_) {
    if (co_await changed()) continue;
    nghttp2_submit_rst_stream(connection_.nghttp2(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_CANCEL);
    connection_.flush();
    co_return false;
  }
  co_return sent_;
}

// In tenths of a second.
net::Task<void> Http2ServerStream::release_slowly() {
  const std::uint64_t rate = answer_.delivery->bytes_per_second;
  const Instant start = now();
  while (!closed_ && allowed_ < to_send_) {
    const double due = static_cast<double>(allowed_) / static_cast<double>(rate);
    co_await connection_.shared().loop.sleep_until(start + from_seconds(due));
    allowed_ = std::min(to_send_, allowed_ + std::max<std::uint64_t>(1, rate / 10));
    if (closed_) co_return;
    nghttp2_session_resume_data(connection_.nghttp2(), id_);
    connection_.flush();
  }
}

Http2Stream::Planned Http2ServerStream::plan_body(std::size_t most) {
  if (cut_ && planned_ == to_send_) return {.failed = true};
  const std::uint64_t size = std::min<std::uint64_t>(most, std::min(to_send_, allowed_) - planned_);
  if (size == 0 && planned_ < to_send_) return {.wait = true};
  planned_ += size;
  const bool last = planned_ == to_send_ && !cut_;
  const bool trailers = last && answer_.delivery != nullptr && !answer_.delivery->trailers.empty();
  if (trailers) submit_trailers();
  if (last && size == 0) {
    sent_ = true;
    touch();
  }
  return {.size = size, .last = last, .trailers = trailers};
}

bool Http2ServerStream::take_body(std::string& out, std::size_t size) {
  const Payload& body = answer_.body;
  if (body.file >= 0) {
    const std::size_t before = out.size();
    out.resize(before + size);
    const auto got =
        pread(body.file, out.data() + before, size, static_cast<off_t>(body.offset + body_sent_));
    if (got != static_cast<ssize_t>(size)) return false;
  } else {
    out += body.bytes.substr(body_sent_, size);
  }
  body_sent_ += size;
  if (body_sent_ == to_send_ && !cut_) {
    sent_ = true;
    touch();
  }
  return true;
}

}  // namespace plimsoll::http
