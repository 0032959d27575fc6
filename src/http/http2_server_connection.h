// The server's side of one HTTP/2 connection (RFC 9113): the same handlers as HTTP/1.1's, many at once.
//
// Limits: streams at once, the size of heads, and what a peer may begin and reset again (CVE-2023-44487): a handler
// that still runs for a stream that is gone counts, and who resets more than kResetBurst streams, with
// kResetsPerSecond forgiven, is told to calm down and left. Idle connections end as HTTP/1.1's do.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/http2_server_stream.h"
#include "http/http2_session.h"
#include "http/server_connection.h"
#include "net/scope.h"

namespace plimsoll::http {

class Http2ServerConnection final : public Http2Session {
 public:
  static constexpr std::uint32_t kMostStreams = 128;
  static constexpr double kResetBurst = 500;
  static constexpr double kResetsPerSecond = 50;

  Http2ServerConnection(ServerLoop& shared, std::unique_ptr<net::Stream> stream, std::uint64_t number);
  ~Http2ServerConnection() override;

  // Until the connection has ended. `received`: what somebody else has taken off the stream, from the preface on.
  net::Task<void> run(std::string received);
  // No more requests; ends with the last answer.
  void drain();

  // --- for its streams.
  ServerLoop& shared() { return shared_; }
  nghttp2_session* nghttp2() { return native(); }
  // Its settle() is due.
  void touch(Http2ServerStream& stream) { touched_.push_back(&stream); }
  void head_complete(Http2ServerStream& stream);
  void flush() { kick(); }
  const Http2Settings& limits() const { return settings(); }
  // The stream's coroutine has ended.
  void detach(Http2ServerStream& stream);

 private:
  Http2Stream* opened_by_peer(std::int32_t id) override;
  void reset_by_peer() override;
  void settle() override;
  void lost(const Error& error) override;
  net::Patience receive_patience() override;
  bool expired(const Error& error) override;
  net::Patience send_patience() override { return {.idle = shared_.limits.progress}; }

  net::Task<void> linger();
  net::Task<void> answer(std::unique_ptr<Http2ServerStream> stream);
  void ended_one();

  ServerLoop& shared_;
  net::Address peer_;
  bool secure_;
  std::uint64_t number_;
  std::uint64_t requests_ = 0;
  bool draining_ = false;
  double reset_credit_ = kResetBurst;
  Instant reset_time_{};
  std::vector<std::unique_ptr<Http2ServerStream>>
      beginning_;  // whose heads are not complete, or not looked at yet
  std::vector<Http2ServerStream*> complete_;
  std::vector<Http2ServerStream*> running_;
  std::vector<Http2ServerStream*> touched_;
  Instant head_began_{};
  net::TaskScope answering_;
};

}  // namespace plimsoll::http
