// A connection as a sequence of bytes: what HTTP is spoken over. TCP, Unix sockets and TLS are streams.
//
// One task receives and one sends at a time; both may wait together (an early answer during an upload). Leaf
// operations are awaiters without a coroutine frame: they try at once, and are tried again by the loop when the
// back end says that something may have changed, until they are done, fail, or run out of patience.
//
// Received bytes are a view that is valid only until the receiving coroutine next awaits anything: back ends share
// buffers between connections, so that ten thousand idle ones cost nothing.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/address.h"
#include "net/timer_wheel.h"

namespace plimsoll::net {

class Loop;
class Stream;

// How long an operation may take. `idle` starts anew with every byte that moves and ends in ErrorKind::timeout;
// `deadline` does not move and ends in `deadline_kind`.
struct Patience {
  Nanos idle = Nanos::max();
  Instant deadline = kNever;
  ErrorKind deadline_kind = ErrorKind::deadline;
};

// A coroutine that waits on a stream, in one direction.
class Waiter : public Timer {
 public:
  // `slot`: where the stream holds the waiter while it waits.
  Waiter(Stream& stream, Waiter*& slot, const Patience& patience)
      : stream_(stream), slot_(slot), patience_(patience) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() override;

  // Called by the back end: tries again and, when that ends the operation, resumes the coroutine. Afterwards the
  // waiter, its stream and its coroutine may be gone.
  void wake();
  // Ends the wait at the next tick, with the error that the stream was aborted with.
  void end_soon();
  // The stream is gone: the coroutine is never resumed, only destroyed.
  void orphan();
  // Called by the loop when the turn that had been asked for has come.
  void take_turn() {
    asked_for_turn_ = false;
    wake();
  }
  // Replaces the limits of a wait that is under way; its idle time starts anew.
  void limit(const Patience& patience);

 protected:
  // True when the operation has ended, well or not.
  virtual bool attempt() = 0;
  virtual void fail(const Error& error) = 0;

  void suspend(std::coroutine_handle<> handle);
  void progressed() { idle_from_progress_ = true; }
  // More could be done at once, but others have their turn first.
  void ask_for_turn();
  Stream& stream() { return stream_; }
  bool waiting() const { return handle_ != nullptr && slot_ == this; }

 private:
  void expired() override;
  void arm();
  void stop_waiting();

  Stream& stream_;
  Waiter*& slot_;
  Patience patience_;
  std::coroutine_handle<> handle_ = nullptr;
  bool idle_from_progress_ = false;
  bool asked_for_turn_ = false;
};

// What has passed through a stream, in both directions, heads included (before TLS).
struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

class Stream {
 public:
  explicit Stream(Loop& loop) : loop_(loop) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream();

  class Receive;
  class Discard;
  class Send;
  class SendFile;
  class Writable;

  // The next bytes; an empty view at the end of the stream.
  Receive receive(Patience patience = {});
  // Takes up to `limit` bytes off the stream without looking at them; 0 at its end.
  Discard discard(std::uint64_t limit, Patience patience = {});
  // Sends both pieces whole. The bytes must stay in place until the operation has ended.
  Send send(std::string_view first, std::string_view second = {}, Patience patience = {});
  // Sends `length` bytes of the file from `offset` on.
  SendFile send_file(int file, std::uint64_t offset, std::uint64_t length, Patience patience = {});
  // Until a connection attempt has ended: ok, or why not.
  Writable established(Patience patience = {});

  // Ends whatever waits, now and later, with `error`. The stream is of no use afterwards but to be destroyed.
  void abort(const Error& error);
  // Says that nothing more will be sent (FIN; close_notify for TLS). Never blocks, ignores failure.
  virtual void shutdown_send() = 0;
  // Close with a reset, so that no TIME_WAIT stays behind.
  virtual void reset_on_close() = 0;
  // A hint that large bodies follow, which are received and discarded in big pieces.
  virtual void expect_bulk(bool /*bulk*/) {}
  // Whether the peer has closed or sent something while nobody was receiving; looks without waiting.
  virtual bool has_news() = 0;

  virtual int descriptor() const = 0;
  Address peer() const { return Address::peer_of(descriptor()); }
  Address local() const { return Address::local_of(descriptor()); }
  // "TLSv1.3, TLS_AES_256_GCM_SHA384"; empty in clear. alpn(): the protocol agreed on; empty where none was.
  virtual std::string tls_description() const { return {}; }
  virtual std::string alpn() const { return {}; }

  Loop& loop() { return loop_; }
  const Traffic& traffic() const { return traffic_; }

  // --- what a back end implements; each returns true when the result is in place, false for "not yet". None of them
  // leaves a pointer to the caller's memory behind, so that an operation can be given up at any time.
  virtual bool try_receive(Result<std::string_view>& out) = 0;
  virtual bool try_discard(std::uint64_t limit, Result<std::uint64_t>& out) = 0;
  // Sends from `first`, then `second`, and removes what has gone from their fronts; true when both are empty or on
  // failure, and sets `moved` when anything has gone.
  virtual bool try_send(std::string_view& first, std::string_view& second, bool& moved,
                        Result<void>& out) = 0;
  virtual bool try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                             Result<void>& out) = 0;
  virtual bool try_establish(Result<void>& out) = 0;
  // The next bytes into a buffer of the caller's.
  virtual bool try_receive_into(char* buffer, std::size_t size, Result<std::size_t>& out) = 0;

  // Called by a back end when the direction may go on. The stream may be destroyed by what that resumes.
  void wake_receiver();
  void wake_sender();
  // A stream on top of this one (TLS) whose waiters are woken in place of this one's.
  void deliver_to(Stream* outer) { outer_ = outer; }
  // What one direction may move in one turn of the loop, so that a fast peer starves neither timers nor others.
  static constexpr std::uint64_t kShare = 1 << 20;
  class Share {
   public:
    std::uint64_t left(std::uint64_t turn) const {
      return turn == turn_ ? kShare - std::min(used_, kShare) : kShare;
    }
    void use(std::uint64_t turn, std::uint64_t bytes) {
      used_ = turn == turn_ ? used_ + bytes : bytes;
      turn_ = turn;
    }

   private:
    std::uint64_t turn_ = 0;
    std::uint64_t used_ = 0;
  };
  Share& receive_share() { return receive_share_; }
  Share& send_share() { return send_share_; }

  Waiter*& receiver() { return receiver_; }
  Waiter*& sender() { return sender_; }
  const Error* aborted() const { return aborted_ ? &abort_error_ : nullptr; }

 protected:
  Traffic traffic_;

 private:
  Loop& loop_;
  Waiter* receiver_ = nullptr;
  Waiter* sender_ = nullptr;
  Stream* outer_ = nullptr;
  Share receive_share_;
  Share send_share_;
  bool aborted_ = false;
  Error abort_error_;

  friend class Loop;
  std::size_t place_ = 0;  // in the loop's list of open streams
};

// ---------------------------------------------------------------------------------------------------------------
// The awaiters. Each is used as a temporary in a co_await expression.

class Stream::Receive final : public Waiter {
 public:
  Receive(Stream& stream, const Patience& patience) : Waiter(stream, stream.receiver(), patience) {}
  bool await_ready() { return attempt(); }
  void await_suspend(std::coroutine_handle<> handle) { suspend(handle); }
  Result<std::string_view> await_resume() { return result_; }

 private:
  bool attempt() override;
  void fail(const Error& error) override { result_ = error; }
  Result<std::string_view> result_;
};

class Stream::Discard final : public Waiter {
 public:
  Discard(Stream& stream, std::uint64_t limit, const Patience& patience)
      : Waiter(stream, stream.receiver(), patience), limit_(limit) {}
  bool await_ready() { return attempt(); }
  void await_suspend(std::coroutine_handle<> handle) { suspend(handle); }
  Result<std::uint64_t> await_resume() { return result_; }

 private:
  bool attempt() override;
  void fail(const Error& error) override { result_ = error; }
  std::uint64_t limit_;
  Result<std::uint64_t> result_;
};

class Stream::Send final : public Waiter {
 public:
  Send(Stream& stream, std::string_view first, std::string_view second, const Patience& patience)
      : Waiter(stream, stream.sender(), patience), first_(first), second_(second) {}
  bool await_ready() { return attempt(); }
  void await_suspend(std::coroutine_handle<> handle) { suspend(handle); }
  Result<void> await_resume() { return result_; }

 private:
  bool attempt() override;
  void fail(const Error& error) override { result_ = error; }
  std::string_view first_;
  std::string_view second_;
  Result<void> result_;
};

class Stream::SendFile final : public Waiter {
 public:
  SendFile(Stream& stream, int file, std::uint64_t offset, std::uint64_t length, const Patience& patience)
      : Waiter(stream, stream.sender(), patience), file_(file), offset_(offset), length_(length) {}
  bool await_ready() { return attempt(); }
  void await_suspend(std::coroutine_handle<> handle) { suspend(handle); }
  Result<void> await_resume() { return result_; }

 private:
  bool attempt() override;
  void fail(const Error& error) override { result_ = error; }
  int file_;
  std::uint64_t offset_;
  std::uint64_t length_;
  Result<void> result_;
};

class Stream::Writable final : public Waiter {
 public:
  Writable(Stream& stream, const Patience& patience) : Waiter(stream, stream.sender(), patience) {}
  bool await_ready() { return attempt(); }
  void await_suspend(std::coroutine_handle<> handle) { suspend(handle); }
  Result<void> await_resume() { return result_; }

 private:
  bool attempt() override;
  void fail(const Error& error) override { result_ = error; }
  Result<void> result_;
};

inline Stream::Receive Stream::receive(Patience patience) {
  return {*this, patience};
}
inline Stream::Discard Stream::discard(std::uint64_t limit, Patience patience) {
  return {*this, limit, patience};
}
inline Stream::Send Stream::send(std::string_view first, std::string_view second, Patience patience) {
  return {*this, first, second, patience};
}
inline Stream::SendFile Stream::send_file(int file, std::uint64_t offset, std::uint64_t length,
                                          Patience patience) {
  return {*this, file, offset, length, patience};
}
inline Stream::Writable Stream::established(Patience patience) {
  return {*this, patience};
}

}  // namespace plimsoll::net
