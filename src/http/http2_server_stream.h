// One request and its answer on a server's HTTP/2 connection: a head that is given to a handler as HTTP/1.1's is, a
// body that is read as it comes, an answer whose body goes out as the windows allow.
//
// Owned by the coroutine that answers it; the connection's nghttp2 refers to it until it is detached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "http/http2_session.h"
#include "http/server.h"
#include "net/scope.h"
#include "net/timer_wheel.h"

namespace plimsoll::http {

class Http2ServerConnection;

class Http2ServerStream final : public Http2Stream, public BodyReader, private net::Timer {
 public:
  Http2ServerStream(Http2ServerConnection& connection, std::int32_t id) : connection_(connection), id_(id) {}
  Http2ServerStream(const Http2ServerStream&) = delete;
  Http2ServerStream& operator=(const Http2ServerStream&) = delete;
  ~Http2ServerStream() override;

  std::int32_t id() const { return id_; }
  const RequestHead& head() const { return head_; }
  // What is wrong with the head: a status to answer it with in the handler's place.
  int refusal() const { return refusal_; }
  ServerAnswer& answer() { return answer_; }
  std::uint64_t body_received() const { return body_received_; }
  std::uint64_t body_sent() const { return body_sent_; }
  bool closed_by_peer() const { return closed_; }
  bool received() const { return received_; }
  // Bytes of the body that nobody has taken: they count against the connection's window.
  std::size_t unread() const { return inbox_.size(); }
  // The body is larger than the server takes.
  bool too_large() const;

  // Sends the answer; false where it did not go out whole.
  net::Task<bool> send_answer();
  // Resumes who waits for what has changed; called by the connection outside of nghttp2.
  void settle();
  // The connection has ended.
  void lost() { closed_ = true; }

  net::Task<Result<std::string_view>> read() override;
  std::optional<std::uint64_t> length() const override;

  void fields_begin() override;
  bool field(std::string_view name, std::string_view value) override;
  void fields_end(bool last) override;
  void data(std::string_view bytes) override;
  void received_whole() override;
  void closed(std::uint32_t code) override;
  void frame_sent(std::size_t wire_bytes, bool head, Instant time) override;
  Planned plan_body(std::size_t most) override;
  bool take_body(std::string& out, std::size_t size) override;

 private:
  struct Place {
    std::size_t name, name_size, value, value_size;
  };
  void build_head(bool last);
  void take_target(std::string_view target);
  // False: nothing moved for too long.
  net::Task<bool> changed();
  void touch();
  void expired() override;
  bool submit_head(bool bodiless);
  void submit_trailers();
  net::Task<void> release_slowly();

  Http2ServerConnection& connection_;
  std::int32_t id_;
  std::string text_;
  std::vector<Place> places_;
  std::size_t list_size_ = 0;
  RequestHead head_;
  int refusal_ = 0;
  bool head_done_ = false;
  bool continue_due_ = false;
  std::string inbox_;  // received, not read yet
  std::string given_;  // what the last read() gave
  std::uint64_t body_received_ = 0;
  bool received_ = false;
  bool closed_ = false;

  ServerAnswer answer_;
  std::uint64_t to_send_ = 0;  // of the answer's body, where it is not cut short
  std::uint64_t planned_ = 0;  // of its bytes
  std::uint64_t body_sent_ = 0;
  std::uint64_t allowed_ = UINT64_MAX;  // how far it may go by now
  bool cut_ = false;                    // it ends in a reset
  bool head_only_ = false;
  bool sent_ = false;

  net::Event changed_;
  bool touched_ = false;
  bool late_ = false;
  Instant moved_{};
};

}  // namespace plimsoll::http
