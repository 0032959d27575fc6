#include "net/stream.h"

#include <algorithm>
#include <utility>

#include "net/loop.h"

namespace plimsoll::net {

Waiter::~Waiter() {
  // Destroyed while it waits: the coroutine was given up.
  if (waiting()) slot_ = nullptr;
}

void Waiter::orphan() {
  disarm();
  handle_ = nullptr;
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
  slot_ = nullptr;
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
  slot_ = nullptr;
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
  return stream().try_receive(result_);
}

bool Stream::Discard::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  return stream().try_discard(limit_, result_);
}

bool Stream::Send::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  bool moved = false;
  const bool done = stream().try_send(first_, second_, moved, result_);
  if (moved) progressed();
  return done;
}

bool Stream::SendFile::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  bool moved = false;
  const bool done = stream().try_send_file(file_, offset_, length_, moved, result_);
  if (moved) progressed();
  return done;
}

bool Stream::Writable::attempt() {
  if (const Error* error = stream().aborted()) {
    fail(*error);
    return true;
  }
  return stream().try_establish(result_);
}

}  // namespace plimsoll::net
