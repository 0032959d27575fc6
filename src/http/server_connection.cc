#include "http/server_connection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

#include "http/http2_server_connection.h"
#include "http/render.h"
#include "net/socket.h"

namespace plimsoll::http {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kOneSend = 64 * 1024;  // a file's bytes up to here go out together with the head
constexpr std::uint64_t kCopied = 4 * 1024;    // bytes in memory up to here are copied behind the head
constexpr Error kTooLarge{ErrorKind::protocol, 413, "the body is too large"};
constexpr std::size_t kKeptBuffer = 8 * 1024;  // more is given back when the connection falls idle

bool never_has_body(int status) {
  return status == 204 || status == 304 || status < 200;
}

void append_number(std::string& out, std::uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

void append_status_line(std::string& out, int status, bool http10) {
  out += http10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(status));
  out += ' ';
  out += reason_phrase(status);
  out += "\r\n";
}

}  // namespace

std::string_view ServerLoop::date_line() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  if (time.tv_sec != date_second_) {
    date_second_ = time.tv_sec;
    date_line_ = "Date: " + http_date(date_second_) + "\r\n";
  }
  return date_line_;
}

ServerConnection::ServerConnection(ServerLoop& shared, std::unique_ptr<net::Stream> stream)
    : shared_(shared),
      stream_(std::move(stream)),
      peer_(stream_->peer()),
      secure_(!stream_->tls_description().empty()),
      number_(shared.next_connection++),
      parser_(shared.limits.request) {}

// Keeps what must outlive the next wait. True when the head is complete.
bool ServerConnection::take(const MessageStep& step, std::string_view bytes, bool from_pending) {
  if (!step.body.empty()) early_body_.assign(step.body);
  if (from_pending) {
    pending_at_ += step.consumed;
    if (pending_at_ == pending_.size()) {
      pending_.clear();
      pending_at_ = 0;
    }
  } else if (step.consumed < bytes.size()) {
    pending_.assign(bytes.substr(step.consumed));
    pending_at_ = 0;
  }
  return parser_.head_done();
}

ServerConnection::~ServerConnection() = default;

net::Task<void> ServerConnection::run() {
  if (shared_.observer != nullptr) shared_.observer->connected();
  if (shared_.limits.http2 && stream_->alpn() == "h2") {
    co_await speak_http2({});
  } else {
    co_await speak_http1();
  }
  if (shared_.observer != nullptr) shared_.observer->disconnected();
}

net::Task<void> ServerConnection::speak_http2(std::string received) {
  http2_ = std::make_unique<Http2ServerConnection>(shared_, std::move(stream_), number_);
  co_await http2_->run(std::move(received));
}

void ServerConnection::drain() {
  if (http2_ != nullptr) {
    http2_->drain();
  } else if (idle_) {
    stream_->abort({ErrorKind::cancelled, 0, "the server ends"});
  }
}

net::Task<void> ServerConnection::speak_http1() {
  while (keep_) {
    parser_.start();
    early_body_.clear();
    Instant head_deadline = kNever;
    while (!parser_.head_done()) {
      const bool from_pending = pending_at_ < pending_.size();
      std::string_view bytes = std::string_view(pending_).substr(pending_at_);
      if (!from_pending) {
        idle_ = parser_.untouched();
        if (idle_ && shared_.draining) co_return;
        if (idle_ && out_.capacity() > kKeptBuffer) out_ = std::string();
        if (idle_ && pending_.capacity() > kKeptBuffer) pending_ = std::string();
        if (!idle_ && head_deadline == kNever) head_deadline = shared_.loop.now() + shared_.limits.head;
        const auto got = co_await stream_->receive(idle_ ? net::Patience{.idle = shared_.limits.idle}
                                                         : net::Patience{.deadline = head_deadline});
        if (!got && !idle_ && got.error().kind == ErrorKind::deadline) {
          co_await refuse({408, "the head of the request did not arrive in time"});
        }
        if (!got || got->empty()) break;
        bytes = *got;
      }
      const auto step = parser_.feed(bytes);
      if (step && parser_.http2() && shared_.limits.http2) {
        co_await speak_http2(std::string(kHttp2Preface).append(bytes.substr(step->consumed)));
        co_return;
      }
      if (!step || parser_.http2()) {
        co_await refuse(step ? Fault{505, "HTTP/2 is not spoken here"} : step.error());
        break;
      }
      take(*step, bytes, from_pending);
    }
    if (!parser_.head_done()) break;
    idle_ = false;
    early_body_given_ = early_body_.empty();
    const RequestHead& head = parser_.head();
    continue_due_ = head.expect_continue && !parser_.done();
    keep_ = head.keep_alive && !shared_.draining;
    answer_.clear();
    Call call{.request = head,
              .body = *this,
              .answer = answer_,
              .loop = shared_.loop,
              .peer = peer_,
              .draining = shared_.draining,
              .secure = secure_,
              .connection = number_,
              .request_index = requests_++};
    const Instant start = shared_.observer != nullptr ? now() : Instant{};
    body_sent_ = 0;
    if (head.content_length && *head.content_length > shared_.limits.max_body) {
      answer_.status = 413;
    } else {
      co_await shared_.handler.handle(call);
      if (body_too_large_) {
        answer_.clear();
        answer_.status = 413;
      }
    }
    const bool sent = co_await answer(call);
    if (shared_.observer != nullptr) {
      shared_.observer->served({.call = call,
                                .body_received = parser_.body_bytes(),
                                .body_sent = body_sent_,
                                .duration = now() - start,
                                .complete = sent});
    }
    answer_.body = {};
    if (!sent) break;
    if (!parser_.done() && !co_await drop_rest_of_body()) keep_ = false;
    if (!keep_) co_await linger();
  }
}

// A chunked body shows its size only as it comes.
bool ServerConnection::too_large() {
  if (parser_.body_bytes() <= shared_.limits.max_body) return false;
  keep_ = false;
  body_too_large_ = true;
  return true;
}

net::Task<Result<std::string_view>> ServerConnection::read() {
  if (too_large()) co_return kTooLarge;
  if (!std::exchange(early_body_given_, true)) co_return std::string_view(early_body_);
  while (!parser_.done()) {
    const bool from_pending = pending_at_ < pending_.size();
    std::string_view bytes = std::string_view(pending_).substr(pending_at_);
    if (!from_pending) {
      if (std::exchange(continue_due_, false)) {
        if (const auto sent = co_await stream_->send("HTTP/1.1 100 Continue\r\n\r\n", {}, progress());
            !sent) {
          co_return sent.error();
        }
      }
      const auto got = co_await stream_->receive(progress());
      if (!got || got->empty()) {
        keep_ = false;
        co_return got ? Error{ErrorKind::short_body, 0, "the client closed within its request"} : got.error();
      }
      bytes = *got;
    }
    const auto step = parser_.feed(bytes);
    if (!step) {
      keep_ = false;
      co_return Error{ErrorKind::protocol, step.error().status, step.error().text};
    }
    const std::string_view piece = step->body;
    if (from_pending) {
      pending_at_ += step->consumed;
    } else if (step->consumed < bytes.size()) {
      pending_.assign(bytes.substr(step->consumed));
      pending_at_ = 0;
    }
    if (too_large()) co_return kTooLarge;
    if (!piece.empty()) co_return piece;
  }
  co_return std::string_view{};
}

std::optional<std::uint64_t> ServerConnection::length() const {
  if (parser_.head().framing == Framing::none) return 0;
  return parser_.head().content_length;
}

void ServerConnection::render_head(bool bodiless, Delivery::Framing framing) {
  const Delivery* delivery = answer_.delivery.get();
  append_status_line(out_, answer_.status, delivery != nullptr && delivery->http10);
  out_ += shared_.date_line();
  out_ += answer_.fields();
  const bool no_body_ever = never_has_body(answer_.status);
  if (framing == Delivery::Framing::chunked) {
    out_ += "Transfer-Encoding: chunked\r\n";
  } else if (framing == Delivery::Framing::length && !no_body_ever &&
             !(bodiless && delivery != nullptr && delivery->no_length)) {
    out_ += "Content-Length: ";
    append_number(out_, answer_.body.size);
    out_ += "\r\n";
  }
  if (!keep_) {
    out_ += "Connection: close\r\n";
  } else if (parser_.head().minor_version == 0) {
    out_ += "Connection: keep-alive\r\n";
  }
  out_ += "\r\n";
}

net::Task<bool> ServerConnection::answer(Call& call) {
  const Delivery* delivery = answer_.delivery.get();
  const bool bodiless = call.request.method == Method::head || never_has_body(answer_.status);
  auto framing = delivery != nullptr ? delivery->framing : Delivery::Framing::length;
  if (framing == Delivery::Framing::chunked && call.request.minor_version == 0)
    framing = Delivery::Framing::until_close;
  const std::uint64_t unread = parser_.head().content_length.value_or(UINT64_MAX) - parser_.body_bytes();
  const bool cannot_go_on = !parser_.done() && (continue_due_ || unread > shared_.limits.drop_unread);
  if (answer_.close || cannot_go_on || framing == Delivery::Framing::until_close || shared_.draining)
    keep_ = false;
  if (delivery != nullptr && delivery->reset && delivery->stop_after == 0U) {
    stream_->reset_on_close();
    keep_ = false;
    co_return false;
  }
  out_.clear();
  render_head(bodiless, framing);
  const Payload& body = answer_.body;
  if (delivery == nullptr && (bodiless || body.size == 0 || body.file < 0)) {
    // The common case: one system call.
    std::string_view second;
    if (!bodiless && body.size <= kCopied) {
      out_ += body.bytes;
    } else if (!bodiless) {
      second = body.bytes;
    }
    if (!bodiless) body_sent_ = body.size;
    co_return (co_await stream_->send(out_, second, progress())).has_value();
  }
  co_return co_await send_body(bodiless, framing);
}

net::Task<bool> ServerConnection::send_body(bool bodiless, Delivery::Framing framing) {
  const Delivery* delivery = answer_.delivery.get();
  Payload body = answer_.body;
  if (delivery == nullptr && body.size <= kOneSend) {
    const std::size_t head = out_.size();
    out_.resize(head + body.size);
    const auto got = pread(body.file, out_.data() + head, body.size, static_cast<off_t>(body.offset));
    if (got != static_cast<ssize_t>(body.size)) co_return false;
    body_sent_ = body.size;
    co_return (co_await stream_->send(out_, {}, progress())).has_value();
  }
  // A head by itself would be a segment, and a wake-up of the client, of its own.
  const bool corked = delivery == nullptr && !bodiless;
  if (corked) net::set_cork(stream_->descriptor(), true);
  if (!co_await stream_->send(out_, {}, progress())) co_return false;
  if (bodiless) co_return true;
  bool cut = false;
  if (delivery != nullptr && delivery->stop_after && *delivery->stop_after < body.size) {
    body = body.part(0, *delivery->stop_after);
    cut = true;
  }
  bool sent = false;
  if (framing == Delivery::Framing::chunked) {
    sent = co_await send_chunked(body);
    if (sent && !cut) {
      out_.assign("0\r\n").append(delivery->trailers).append("\r\n");
      sent = (co_await stream_->send(out_, {}, progress())).has_value();
    }
  } else if (delivery != nullptr && delivery->bytes_per_second > 0) {
    sent = co_await send_slowly(body);
  } else {
    sent = co_await send_piece(body);
  }
  if (corked) net::set_cork(stream_->descriptor(), false);
  if (cut) {
    keep_ = false;
    if (delivery->reset) stream_->reset_on_close();
    co_return false;
  }
  co_return sent;
}

net::Task<bool> ServerConnection::send_piece(Payload piece) {
  if (piece.size == 0) co_return true;
  Result<void> sent;
  if (piece.file >= 0) {
    sent = co_await stream_->send_file(piece.file, piece.offset, piece.size, progress());
  } else {
    sent = co_await stream_->send(piece.bytes, {}, progress());
  }
  if (sent) body_sent_ += piece.size;
  co_return sent.has_value();
}

net::Task<bool> ServerConnection::send_chunked(Payload body) {
  const std::uint64_t chunk = std::max<std::uint64_t>(1, answer_.delivery->chunk);
  for (std::uint64_t at = 0; at < body.size; at += chunk) {
    const std::uint64_t length = std::min(chunk, body.size - at);
    out_.clear();
    append_chunk_head(out_, length);
    if (!co_await stream_->send(out_, {}, progress())) co_return false;
    if (!co_await send_piece(body.part(at, length))) co_return false;
    if (!co_await stream_->send(kChunkEnd, {}, progress())) co_return false;
  }
  co_return true;
}

// In tenths of a second.
net::Task<bool> ServerConnection::send_slowly(Payload body) {
  const std::uint64_t rate = answer_.delivery->bytes_per_second;
  const std::uint64_t step = std::max<std::uint64_t>(1, rate / 10);
  const Instant start = now();
  for (std::uint64_t at = 0; at < body.size; at += step) {
    if (!co_await send_piece(body.part(at, std::min(step, body.size - at)))) co_return false;
    co_await shared_.loop.sleep_until(
        start + from_seconds(static_cast<double>(at + step) / static_cast<double>(rate)));
  }
  co_return true;
}

net::Task<bool> ServerConnection::drop_rest_of_body() {
  for (std::uint64_t dropped = 0; keep_ && dropped <= shared_.limits.drop_unread;) {
    const auto piece = co_await read();
    if (!piece) co_return false;
    if (piece->empty()) co_return true;
    dropped += piece->size();
  }
  co_return false;
}

net::Task<void> ServerConnection::refuse(Fault fault) {
  keep_ = false;
  if (shared_.observer != nullptr) shared_.observer->malformed(fault.status);
  if (fault.status == 0) co_return;
  out_.clear();
  append_status_line(out_, fault.status, false);
  out_ += shared_.date_line();
  const std::string_view text = fault.text;
  fmt::format_to(std::back_inserter(out_),
                 "Content-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}\n",
                 text.size() + 1, text);
  if (co_await stream_->send(out_, {}, progress())) co_await linger();
}

// Ends our side and takes in what the client is still sending, for a while: closing on unread bytes would reset the
// connection and could destroy the answer on its way (RFC 9112, section 9.6).
net::Task<void> ServerConnection::linger() {
  stream_->shutdown_send();
  constexpr std::uint64_t kMost = 64 << 20;
  const net::Patience patience{.idle = 1s, .deadline = shared_.loop.now() + 5s};
  for (std::uint64_t taken = 0; taken < kMost;) {
    const auto got = co_await stream_->discard(1 << 20, patience);
    if (!got || *got == 0) co_return;
    taken += *got;
  }
}

}  // namespace plimsoll::http
