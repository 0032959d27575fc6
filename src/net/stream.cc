#include "net/stream.h"

#include <algorithm>
#include <utility>

#include "net/loop.h"

namespace plimsoll::net {

Waiter::~Waiter() {
  // Destroyed while it waits: the coroutine was given up.
  if (waiting()) stop_waiting();
}

void Waiter::stop_waiting() {
  if (std::exchange(asked_for_turn_, false)) stream_.loop().forget_turn(*this);
  slot_ = nullptr;
}

void Waiter::orphan() {
  disarm();
  stop_waiting();
  handle_ = nullptr;
}

void Waiter::ask_for_turn() {
  if (!std::exchange(asked_for_turn_, true)) stream_.loop().add_turn(*this);
}

void Waiter::suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  slot_ = this;
  // An attempt that moved bytes may have taken long: this turn's time would be too early to count from.
  if (std::exchange(idle_from_progress_, false)) stream_.loop().tick();
  arm();
}

void Waiter::arm() {
  Instant due = patience_.deadline;
  if (patience_.idle != Nanos::max()) due = std::min(due, stream_.loop().now() + patience_.idle);
  if (due != kNever) stream_.loop().timers().arm(*this, due);
}

void Waiter::wake() {
  if (!attempt()) {
    if (std::exchange(idle_from_progress_, false)) {
      stream_.loop().tick();
      arm();
    }
    return;
  }
  disarm();
  stop_waiting();
  std::exchange(handle_, nullptr).resume();
}

void Waiter::end_soon() {
  stream_.loop().timers().arm(*this, stream_.loop().now());
}

void Waiter::limit(const Patience& patience) {
  patience_ = patience;
  disarm();
  arm();
}

void Waiter::expired() {
  if (const Error* error = stream_.aborted()) {
    fail(*error);
  } else {
    const bool by_deadline = patience_.deadline <= stream_.loop().now();
    fail({by_deadline ? patience_.deadline_kind : ErrorKind::timeout, 0, ""});
  }
  stop_waiting();
  std::exchange(handle_, nullptr).resume();
}

Stream::~Stream() {
  if (receiver_ != nullptr) receiver_->orphan();
  if (sender_ != nullptr) sender_->orphan();
}

void Stream::abort(const Error& error) {
  if (aborted_) return;
  if (outer_ != nullptr) outer_->abort(error);
  aborted_ = true;
  abort_error_ = error;
  if (receiver_ != nullptr) receiver_->end_soon();
  if (sender_ != nullptr) sender_->end_soon();
}

void Stream::wake_receiver() {
  if (outer_ != nullptr) {
    // What became readable may be what a sender of the outer stream lacked (a handshake).
    if (outer_->receiver_ != nullptr) {
      outer_->receiver_->wake();
    } else if (outer_->sender_ != nullptr) {
      outer_->sender_->wake();
    }
  } else if (receiver_ != nullptr) {
    receiver_->wake();
  }
}

void Stream::wake_sender() {
  if (outer_ != nullptr) {
    if (outer_->sender_ != nullptr) {
      outer_->sender_->wake();
    } else if (outer_->receiver_ != nullptr) {
      outer_->receiver_->wake();
    }
  } else if (sender_ != nullptr) {
    sender_->wake();
  }
}

bool Stream::Receive::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  const std::uint64_t turn = stream().loop().turn();
  if (stream().receive_share().left(turn) == 0) {
    ask_for_turn();
    return false;
  }
  if (!stream().try_receive(result_)) return false;
  if (result_) stream().receive_share().use(turn, result_->size());
  return true;
}

bool Stream::Discard::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  const std::uint64_t turn = stream().loop().turn();
  if (stream().receive_share().left(turn) == 0) {
    ask_for_turn();
    return false;
  }
  if (!stream().try_discard(limit_, result_)) return false;
  if (result_) stream().receive_share().use(turn, *result_);
  return true;
}

bool Stream::Send::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  const std::uint64_t turn = stream().loop().turn();
  const std::uint64_t share = stream().send_share().left(turn);
  std::string_view first = first_.substr(0, share);
  std::string_view second = second_.substr(0, share - first.size());
  const std::size_t offered = first.size() + second.size();
  bool moved = false;
  const bool done = offered == 0 && share == 0 ? true : stream().try_send(first, second, moved, result_);
  const std::size_t gone = offered - first.size() - second.size();
  const std::size_t of_first = std::min(gone, first_.size());
  first_.remove_prefix(of_first);
  second_.remove_prefix(gone - of_first);
  stream().send_share().use(turn, gone);
  if (moved) progressed();
  if (!done || !result_ || (first_.empty() && second_.empty())) return done;
  ask_for_turn();
  return false;
}

bool Stream::SendFile::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  const std::uint64_t turn = stream().loop().turn();
  const std::uint64_t offered = std::min(length_, stream().send_share().left(turn));
  std::uint64_t length = offered;
  bool moved = false;
  const bool done =
      offered == 0 && length_ > 0 ? true : stream().try_send_file(file_, offset_, length, moved, result_);
  length_ -= offered - length;
  stream().send_share().use(turn, offered - length);
  if (moved) progressed();
  if (!done || !result_ || length_ == 0) return done;
  ask_for_turn();
  return false;
}

bool Stream::Writable::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  return stream().try_establish(result_);
}

}  // namespace plimsoll::net
