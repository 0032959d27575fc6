// What both ends of an HTTP/2 connection have (RFC 9113): frames by nghttp2, bytes by a net::Stream.
//
// Two tasks run a connection: receive_all() feeds nghttp2, send_all() takes from it. Messages are Http2Streams, which
// nghttp2's callbacks fill; nothing is resumed within a callback. What became of the streams is looked at in
// settle(), after each batch of bytes, so that the requests that one batch of answers leads to go out as one batch.
// Belongs to one loop's thread.
//
// Hostile peers end the connection with ErrorKind::protocol: bytes that are no frames, frames out of order, a head
// without end, and floods of frames that move nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/scope.h"
#include "net/stream.h"
#include "net/task.h"

// nghttp2's type, whose header stays in the sources.
struct nghttp2_session;

namespace plimsoll::http {

struct Http2Settings {
  std::uint32_t stream_window = 64 << 20;       // what a peer may send on a stream before we take it
  std::uint32_t connection_window = 256 << 20;  // and on all of them
  std::uint32_t max_frame = 256 * 1024;
  std::uint32_t max_header_list =
      64 * 1024;  // as RFC 9113, section 10.5.1, counts: name, value and 32 bytes a field
  std::uint32_t max_fields = 256;
  std::uint32_t max_streams = 100;  // that a client may open; servers only
  // Windows open again as bytes arrive; else only when they are consumed().
  bool auto_window = true;
};

// A message in each direction. Its functions are called from within nghttp2: they note, and resume nobody.
class Http2Stream {
 public:
  virtual ~Http2Stream() = default;
  // A block of fields: an interim head, the head, trailers.
  virtual void fields_begin() = 0;
  // False: too much; the stream is reset.
  virtual bool field(std::string_view name, std::string_view value) = 0;
  virtual void fields_end(bool last) = 0;
  virtual void data(std::string_view bytes) = 0;
  // The peer's message is whole.
  virtual void received_whole() = 0;
  // A frame of the peer's broke the rules of messages (a body of another length than said).
  virtual void malformed() {}
  // The peer sent RST_STREAM; closed() follows.
  virtual void reset_by_peer() {}
  // Gone from nghttp2, which will not name it again. `code`: of RST_STREAM of either side, 0 for a good end.
  virtual void closed(std::uint32_t code) = 0;
  virtual void frame_received(std::size_t /*wire_bytes*/, bool /*data*/) {}
  // `head`: the first frame of our message.
  virtual void frame_sent(std::size_t /*wire_bytes*/, bool /*head*/, Instant /*time*/) {}

  // Our body, at most `most` bytes of it at a time.
  struct Planned {
    std::size_t size = 0;
    bool last = false;
    bool wait = false;    // nothing now: resume_body() says when to ask again
    bool failed = false;  // the stream is reset
    bool trailers = false;
  };
  virtual Planned plan_body(std::size_t most) = 0;
  // Appends what was planned; false resets the stream.
  virtual bool take_body(std::string& out, std::size_t size) = 0;
};

class Http2Session {
 public:
  enum class Role : std::uint8_t { client, server };
  Http2Session(Role role, std::unique_ptr<net::Stream> stream, const Http2Settings& settings);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  virtual ~Http2Session();

  // Each runs until the connection has ended; start send_all() first, and both before anything is sent.
  net::Task<void> receive_all();
  net::Task<void> send_all();
  // For bytes that somebody else received before receive_all() (the preface), and by it.
  void digest(std::string_view bytes);

  net::Stream& stream() { return *stream_; }
  bool ended() const { return ended_; }
  bool can_send() const { return !ended_ && !send_failed_; }

 protected:
  // --- hooks. The first is called within nghttp2; the others may resume coroutines.
  virtual Http2Stream* opened_by_peer(std::int32_t /*id*/) { return nullptr; }
  virtual void reset_by_peer() {}
  virtual void not_sent(std::int32_t /*id*/) {}
  virtual void going_away() {}
  virtual void settle() = 0;
  // The connection has ended, and why; called once, after the last settle().
  virtual void lost(const Error& error) = 0;
  // Limits of the next wait for bytes; what ends it tells expired() which may go on.
  virtual net::Patience receive_patience() { return {}; }
  virtual bool expired(const Error& /*error*/) { return false; }
  virtual net::Patience send_patience() { return {}; }

  // Something may be there to be sent.
  void kick();
  // Ends the connection from our side: everything that waits ends with `error`.
  void end(const Error& error);
  // As soon as all that is to be sent has gone.
  void end_when_sent(const Error& error);
  nghttp2_session* native() { return session_; }
  // When the bytes that are being looked at arrived.
  Instant received_at() const { return received_at_; }
  std::uint64_t bytes_received() const { return stream_->traffic().received; }
  const Http2Settings& settings() const { return settings_; }

 private:
  friend struct Http2Callbacks;
  static constexpr std::size_t kBatch = 128 * 1024;
  static constexpr std::uint32_t kMostQuietFrames = 10'000;

  bool take(std::string_view bytes);
  void collect();
  void settle_all();
  Instant batch_time();

  Http2Settings settings_;
  std::unique_ptr<net::Stream> stream_;
  nghttp2_session* session_ = nullptr;
  std::string out_;
  net::Event output_;
  Instant received_at_{};
  Instant batch_time_{};
  const char* problem_ = nullptr;       // why nghttp2 gave up
  const char* last_invalid_ = nullptr;  // what was wrong with the last frame that was
  std::uint32_t quiet_frames_ = 0;
  std::uint64_t head_bytes_ = 0;
  bool greeted_ = false;  // the peer has sent something
  bool receiving_ = false;
  bool settling_ = false;
  bool send_failed_ = false;
  std::optional<Error> finishing_;
  bool ended_ = false;
};

// "INTERNAL_ERROR" (RFC 9113, section 7).
const char* http2_error_name(std::uint32_t code);

}  // namespace plimsoll::http
