#include "http/client_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "net/scope.h"

namespace plimsoll::http {
namespace {

// From here on sending from the file saves the copy into the kernel.
constexpr std::size_t kFromFile = 64 * 1024;
// Below this, discarding takes more calls than receiving with everything else.
constexpr std::uint64_t kWorthDiscarding = 32 * 1024;

}  // namespace

// A body on its way, side by side with the receiving of the answer.
struct ClientConnection::Upload {
  Result<void> result;
  std::uint64_t sent = 0;
  bool done = false;
};

ClientConnection::ClientConnection(std::unique_ptr<net::Stream> stream) : stream_(std::move(stream)) {
  head_.reserve(512);
}

void ClientConnection::render(const Request& request) {
  head_.clear();
  head_ += request.method == Method::other ? request.method_text : name(request.method);
  head_ += ' ';
  head_ += request.target;
  head_ += " HTTP/1.1\r\nHost: ";
  head_ += request.authority;
  head_ += "\r\n";
  for (const HeaderView& field : request.headers) {
    head_ += field.name;
    head_ += ": ";
    head_ += field.value;
    head_ += "\r\n";
  }
  if (request.body != nullptr) {
    if (const auto length = request.body->length()) {
      fmt::format_to(std::back_inserter(head_), "Content-Length: {}\r\n", *length);
    } else {
      head_ += "Transfer-Encoding: chunked\r\n";
    }
  }
  head_ += "\r\n";
}

void ClientConnection::begin(const Request& request) {
  if (request.rendered_head.empty()) {
    render(request);
    head_view_ = head_;
  } else {
    head_view_ = request.rendered_head;
  }
  parser_.start(request.method);
  stream_->expect_bulk(request.bulk_answer);
  progress_ = {.sent_first = now()};
}

Error ClientConnection::fail(const Error& error) {
  reusable_ = false;
  if (parser_.head_done()) progress_.status = parser_.head().status;
  return error;
}

Result<Answer> ClientConnection::finish(Answer answer, const net::Traffic& before) {
  answer.head = &parser_.head();
  answer.sent_first = progress_.sent_first;
  answer.first_byte = progress_.first_byte;
  answer.wire_sent = stream_->traffic().sent - before.sent;
  answer.wire_received = stream_->traffic().received - before.received;
  answer.body_received = parser_.body_bytes();
  if (answer.early || !parser_.head().keep_alive) reusable_ = false;
  ++exchanges_;
  return answer;
}

net::Task<Result<Answer>> ClientConnection::exchange(const Request& request, BodySink* sink,
                                                     net::Patience patience) {
  begin(request);
  if (request.body != nullptr && request.body->length() != 0U) {
    co_return co_await exchange_with_body(request, sink, patience);
  }
  const net::Traffic before = stream_->traffic();
  const auto sent = co_await stream_->send(head_view_, {}, patience);
  // The peer may have answered before it closed: a failed send says less than what can still be received.
  if (!sent && sent.error().kind != ErrorKind::reset) co_return fail(sent.error());
  // The first piece is most often the whole answer: a frame less.
  Answer answer;
  Result<void> received = took(co_await stream_->receive(patience), sink, answer);
  if (received && !parser_.done()) received = co_await receive_answer(sink, patience, nullptr, answer);
  if (!received) co_return fail(received.error());
  answer.early = !sent;
  co_return finish(answer, before);
}

net::Task<Result<Answer>> ClientConnection::exchange_with_body(const Request& request, BodySink* sink,
                                                               net::Patience patience) {
  const net::Traffic before = stream_->traffic();
  Upload upload;
  Answer answer;
  net::TaskScope sending;
  sending.spawn(send_request(*request.body, patience, upload));
  const auto received = co_await receive_answer(sink, patience, &upload, answer);
  // An answer that refuses ends the upload. One that accepts early (RFC 9110, section 15) lets it go on.
  const bool refused = !received || parser_.head().status >= 300;
  if (!upload.done && refused) stream_->abort({ErrorKind::cancelled, 0, "answered before the body was sent"});
  answer.early = received.has_value() && !upload.done;
  co_await sending.join();
  answer.body_sent = upload.sent;
  progress_.body_started = upload.sent > 0;
  if (!received) {
    // Of two failures the sender's own timeout is the cause of the other.
    const bool sender_stalled = !upload.result && upload.result.error().kind != ErrorKind::reset &&
                                upload.result.error().kind != ErrorKind::cancelled;
    co_return fail(sender_stalled ? upload.result.error() : received.error());
  }
  if (!upload.result) answer.early = true;
  co_return finish(answer, before);
}

net::Task<void> ClientConnection::send_request(const RequestBody& body, net::Patience patience,
                                               Upload& upload) {
  upload.result = co_await send_pieces(body, patience, upload);
  upload.done = true;
  if (!upload.result && upload.result.error().kind != ErrorKind::reset) {
    stream_->abort(upload.result.error());
  } else if (stream_->receiver() != nullptr) {
    // While the body moved the answer could take as long as that did; from here on its own patience counts.
    stream_->receiver()->limit(patience);
  }
}

net::Task<Result<void>> ClientConnection::send_pieces(const RequestBody& body, net::Patience patience,
                                                      Upload& upload) {
  const auto length = body.length();
  std::string_view head = head_view_;
  std::array<char, 24> chunk_head{};
  for (;;) {
    const BodyPiece piece = body.piece(upload.sent);
    if (piece.bytes.empty()) break;
    if (length) {
      const bool from_file = piece.file >= 0 && piece.bytes.size() >= kFromFile;
      if (!head.empty() || !from_file) {
        const auto sent =
            co_await stream_->send(head, from_file ? std::string_view() : piece.bytes, patience);
        if (!sent) co_return sent.error();
        head = {};
      }
      if (from_file) {
        const auto sent =
            co_await stream_->send_file(piece.file, piece.file_offset, piece.bytes.size(), patience);
        if (!sent) co_return sent.error();
      }
    } else {
      // Each piece is a chunk; the line end that closes it goes with the next chunk's head (RFC 9112, section 7.1).
      if (!head.empty()) {
        if (const auto sent = co_await stream_->send(head, {}, patience); !sent) co_return sent.error();
        head = {};
      }
      const auto end = fmt::format_to_n(chunk_head.data(), chunk_head.size(), "{}{:x}\r\n",
                                        upload.sent == 0 ? "" : "\r\n", piece.bytes.size());
      const std::string_view prefix(chunk_head.data(), end.size);
      if (const auto sent = co_await stream_->send(prefix, piece.bytes, patience); !sent)
        co_return sent.error();
    }
    upload.sent += piece.bytes.size();
  }
  if (!length) {
    const std::string_view last = upload.sent == 0 ? "0\r\n\r\n" : "\r\n0\r\n\r\n";
    if (const auto sent = co_await stream_->send(head, last, patience); !sent) co_return sent.error();
  } else if (upload.sent != *length) {
    co_return Error{ErrorKind::short_body, 0, "the request's body is shorter than its length"};
  }
  co_return ok();
}

net::Task<Result<void>> ClientConnection::receive_answer(BodySink* sink, net::Patience patience,
                                                         const Upload* upload, Answer& answer) {
  while (!parser_.done()) {
    net::Patience limit = patience;
    // While a body is being sent, its progress is what counts.
    if (upload != nullptr && !upload->done) limit.idle = Nanos::max();
    const std::uint64_t skippable = sink == nullptr ? parser_.skippable() : 0;
    if (skippable >= kWorthDiscarding) {
      const auto dropped = co_await stream_->discard(skippable, limit);
      if (!dropped) co_return dropped.error();
      answer.last_byte = now();
      if (*dropped == 0) co_return parser_.finish();
      parser_.skip(*dropped);
      continue;
    }
    const auto taken = took(co_await stream_->receive(limit), sink, answer);
    if (!taken) co_return taken;
  }
  co_return ok();
}

// What a receive gave: bytes, the end, or a failure.
Result<void> ClientConnection::took(const Result<std::string_view>& bytes, BodySink* sink, Answer& answer) {
  // A reset before anything came is the same event as a close: the peer no longer had the connection.
  if (!bytes) return bytes.error();
  answer.last_byte = now();
  if (bytes->empty()) return parser_.finish();
  if (!progress_.answer_started) {
    progress_.answer_started = true;
    progress_.first_byte = answer.last_byte;
  }
  return take(*bytes, sink);
}

Result<void> ClientConnection::take(std::string_view bytes, BodySink* sink) {
  while (!bytes.empty()) {
    // Bytes after the answer belong to no request of ours: the next one must not take them for its answer.
    if (parser_.done()) {
      reusable_ = false;
      return ok();
    }
    const auto step = parser_.feed(bytes);
    if (!step) return step.error();
    if (!step->body.empty() && sink != nullptr) sink->data(step->body);
    bytes.remove_prefix(step->consumed);
  }
  return ok();
}

}  // namespace plimsoll::http
