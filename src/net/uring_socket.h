// A socket of the io_uring back end (uring_backend.h says how it works).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/socket.h"
#include "net/uring_backend.h"

namespace plimsoll::net {

class UringSocket final : public Socket {
 public:
  UringSocket(Loop& loop, UringBackend& backend, int fd, bool connecting);
  ~UringSocket() override;

  bool try_receive(Result<std::string_view>& out) override;
  bool try_discard(std::uint64_t limit, Result<std::uint64_t>& out) override;
  bool try_receive_into(char* buffer, std::size_t size, Result<std::size_t>& out) override;
  bool try_send(std::string_view& first, std::string_view& second, bool& moved, Result<void>& out) override;
  bool try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                     Result<void>& out) override;
  bool try_establish(Result<void>& out) override;
  void shutdown_send() override;
  void expect_bulk(bool bulk) override;
  bool has_news() override;

  // --- completions, as the back end finds them.
  // A receive has completed and waits to be dispatched.
  void receive_collected() { ++undispatched_; }
  // What it brought: `bytes` last until keep_rest().
  void on_receive(const UringCompletion& completion, std::string_view bytes);
  // Copies aside what nobody has taken.
  void keep_rest();
  void on_readable();
  void on_writable();
  void on_small_send_failed(int result);

 private:
  UringKey key(UringOp op) const { return {key_.slot, key_.generation, op}; }
  io_uring_sqe& queue(UringOp op);
  bool is_bulk() const { return bulk_receives_left_ > 0; }
  // Takes up to `limit` bytes of those at hand.
  std::string_view take_ready(std::size_t limit);
  // Without anything at hand: the end or a failure, else what a bulk receive finds; false when it must wait, for
  // which it has armed what is needed.
  bool receive_more(char* buffer, std::size_t size, int flags, Result<std::size_t>& out);
  void arm_receive();
  void arm_poll(UringOp op);
  bool send_small(std::string_view& first, std::string_view& second);
  // False while bytes that were accepted earlier wait for room, or after a failure.
  bool send_leftover();
  // Sends directly after all that is queued; true when everything has gone or on failure.
  bool may_send_directly(Result<void>& out);
  bool note_send(const Moved& sent);

  UringBackend& backend_;
  UringKey key_;

  // Receiving.
  std::string_view window_;  // in a buffer of the ring (while it is dispatched) or in lent_
  std::string spill_;        // what came while nobody waited
  std::string lent_;         // what was taken of it last
  bool receiving_ = false;   // a multishot receive is under way
  bool cancelling_ = false;
  bool polling_in_ = false;
  bool readable_ = true;
  bool ended_ = false;
  int receive_error_ = 0;
  int undispatched_ = 0;
  int full_in_a_row_ = 0;
  int bulk_receives_left_ = 0;
  bool discarded_ = false;  // what came last was discarded unseen

  // Sending.
  bool writable_;
  bool polling_out_ = false;
  bool reacted_ = true;     // the peer has answered since the last large send, so its buffer has drained
  std::string_view small_;  // the last small send, until it is settled
  std::uint64_t
      small_settled_;  // ring.settlements() when it was queued; no small send is out when they differ
  int small_sends_ = 0;
  int file_index_ = -1;   // in the ring's table of files
  std::string leftover_;  // of small sends, what the kernel could not take
  int send_error_ = 0;
  bool shutdown_when_sent_ = false;

  std::uint64_t queued_at_;  // ring.submissions() when an entry was last queued
};

}  // namespace plimsoll::net
