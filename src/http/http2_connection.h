// The client's side of one HTTP/2 connection (RFC 9113): many exchanges at once, each as http/1.1's.
//
// What the peer says it did not process (REFUSED_STREAM, a stream above a GOAWAY's last one) ends in an error whose
// exchange is unprocessed(): it can be sent again whatever it was. Everything else is classified as on HTTP/1.1:
// `closed` before and within a head, `short_body` within a body, `reset` for a stream or connection that the peer
// reset, `protocol`, `timeout`.
//
// Bytes on the wire are the frames of an exchange's own stream; SETTINGS, PING and WINDOW_UPDATE belong to none.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "http/http2_session.h"
#include "net/timer_wheel.h"

namespace plimsoll::http {

class Http2Connection;

// One exchange of a client. The client keeps it from one to the next, so that a warm one allocates nothing; the
// answer's head lies in it.
class Http2Exchange final : public Http2Stream, private net::Timer {
 public:
  Http2Exchange() = default;
  Http2Exchange(const Http2Exchange&) = delete;
  Http2Exchange& operator=(const Http2Exchange&) = delete;
  ~Http2Exchange() override;

  const Progress& progress() const { return progress_; }
  // The peer did nothing with the request.
  bool unprocessed() const { return unprocessed_; }
  // It ended with its connection, not by itself.
  bool connection_lost() const { return connection_lost_; }

  void fields_begin() override;
  bool field(std::string_view name, std::string_view value) override;
  void fields_end(bool last) override;
  void data(std::string_view bytes) override;
  void received_whole() override;
  void malformed() override;
  void reset_by_peer() override { reset_by_peer_ = true; }
  void closed(std::uint32_t code) override;
  void frame_received(std::size_t wire_bytes, bool data) override;
  void frame_sent(std::size_t wire_bytes, bool head, Instant time) override;
  Planned plan_body(std::size_t most) override;
  bool take_body(std::string& out, std::size_t size) override;

 private:
  friend class Http2Connection;
  struct Finished;

  void begin(Http2Connection& connection, const Request& request, BodySink* sink,
             const net::Patience& patience);
  void build_head();
  Result<void> parse_status();
  void finish(const Result<void>& result);
  void resume();
  void arm();
  void expired() override;
  Error cut_off(const Error& error) const;

  struct Place {
    std::size_t name, name_size, value, value_size;
  };

  Http2Connection* connection_ = nullptr;  // while it is under way
  std::size_t index_ = 0;                  // in the connection's list
  std::int32_t id_ = 0;
  const RequestBody* body_ = nullptr;
  std::optional<std::uint64_t> body_length_;
  std::uint64_t body_planned_ = 0;
  std::string_view planned_;
  std::uint64_t announced_ = 0;  // by the frames of the answer's body, the last of which may be refused
  BodySink* sink_ = nullptr;
  net::Patience patience_;
  Instant moved_{};
  std::string text_;
  std::vector<Place> places_;
  std::size_t list_size_ = 0;
  ResponseHead head_;
  bool head_done_ = false;
  bool in_trailers_ = false;
  bool sent_whole_ = false;
  bool received_whole_ = false;
  bool reset_by_peer_ = false;
  Answer answer_;
  Progress progress_;
  std::uint64_t connection_bytes_ = 0;  // that the connection had received when this began
  bool done_ = false;
  bool unprocessed_ = false;
  bool connection_lost_ = false;
  std::optional<Error> failure_;  // found before the stream closed: its cause
  Result<void> result_;
  std::coroutine_handle<> waiting_ = nullptr;
};

class Http2Connection final : public Http2Session {
 public:
  // `secure`: what :scheme says. `most`: how many exchanges it may carry, 0: any number.
  Http2Connection(std::unique_ptr<net::Stream> stream, bool secure, std::uint64_t most);
  ~Http2Connection() override;

  // As ClientConnection::exchange; the answer's head is valid until the next one with this `state`.
  net::Task<Result<Answer>> exchange(const Request& request, BodySink* sink, net::Patience patience,
                                     Http2Exchange& state);

  // Another exchange may begin here.
  bool usable() const { return can_send() && !retired_ && !worn(); }
  // It carried as many as it may.
  bool worn() const { return most_ != 0 && begun_ >= most_; }
  // How many have ended well.
  std::uint64_t exchanges() const { return ended_well_; }
  // No new exchanges; the connection ends with the last one that is under way.
  void retire();

 private:
  friend class Http2Exchange;
  Result<void> submit(const Request& request, Http2Exchange& state);
  // Ends an exchange from our side and leaves the connection to the others.
  void give_up(Http2Exchange& state, const Error& error);
  void note_finished(Http2Exchange& state);
  void forget(Http2Exchange& state);
  void end_if_idle();

  void not_sent(std::int32_t id) override;
  void going_away() override { retired_ = true; }
  void settle() override;
  void lost(const Error& error) override;

  bool secure_;
  std::uint64_t most_;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_well_ = 0;
  bool retired_ = false;
  std::vector<Http2Exchange*> active_;
  std::vector<Http2Exchange*> finished_;  // to be resumed in settle(); null: gone meanwhile
  std::string length_text_;
};

}  // namespace plimsoll::http
