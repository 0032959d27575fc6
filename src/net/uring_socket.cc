#include "net/uring_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/loop.h"

namespace plimsoll::net {
namespace {

// Sends up to this size are copied and queued: about where a copy becomes dearer than a system call.
constexpr std::size_t kSmallSend = 8 * 1024;
// What may come unasked before the socket stops receiving.
constexpr std::size_t kMostSpill = 16 * 1024;
// A body is bulk after so many full buffers in a row.
constexpr int kFullBuffers = 8;
// How many receives stay bulk after the last large one: heads between large bodies don't switch to and fro.
constexpr int kBulkReceives = 64;
// A connection that lives so long pays for its place in the ring's table of files.
constexpr int kSendsToRegister = 32;
constexpr std::uint64_t kLargeDiscard = 32 * 1024;
constexpr std::uint64_t kMostDiscard = 16 << 20;
// After a body that was discarded comes the head of a message whose body will be too: a large receive would copy what
// the next discard can drop.
constexpr std::size_t kHeadAfterBulk = 4096;

}  // namespace

UringSocket::UringSocket(Loop& loop, UringBackend& backend, int fd, bool connecting)
    : Socket(loop, fd),
      backend_(backend),
      key_(backend.add(*this)),
      writable_(!connecting),
      small_settled_(backend.ring().settlements() - 1),
      queued_at_(backend.ring().submissions() - 1) {}

UringSocket::~UringSocket() {
  if (small_settled_ == backend_.ring().settlements()) backend_.settle();
  if (send_error_ == 0 && !leftover_.empty()) send_leftover();
  // The kernel holds the socket open for operations that are under way.
  if (receiving_ && !cancelling_) backend_.ring().cancel(key(UringOp::receive));
  if (polling_in_) backend_.ring().cancel(key(UringOp::poll_in));
  if (polling_out_) backend_.ring().cancel(key(UringOp::poll_out));
  // An entry that is still queued would act on whatever gets this descriptor's number next.
  if (queued_at_ == backend_.ring().submissions()) backend_.ring().submit();
  if (file_index_ >= 0) backend_.ring().unregister_file(file_index_);
  backend_.remove(key_);
}

io_uring_sqe& UringSocket::queue(UringOp op) {
  io_uring_sqe& entry = backend_.ring().next(key(op));
  queued_at_ = backend_.ring().submissions();
  return entry;
}

void UringSocket::arm_receive() {
  if (receiving_) return;
  receiving_ = true;
  UringRing::prepare_receive(queue(UringOp::receive), descriptor());
}

void UringSocket::arm_poll(UringOp op) {
  bool& armed = op == UringOp::poll_in ? polling_in_ : polling_out_;
  if (std::exchange(armed, true)) return;
  io_uring_sqe& entry = queue(op);
  const std::uint64_t user_data = entry.user_data;
  io_uring_prep_poll_add(&entry, descriptor(), op == UringOp::poll_in ? POLLIN | POLLRDHUP : POLLOUT);
  entry.user_data = user_data;
}

// ---------------------------------------------------------------------------------------------------- receiving

void UringSocket::expect_bulk(bool bulk) {
  if (!bulk) return;
  bulk_receives_left_ = kBulkReceives;
  if (!receiving_ || std::exchange(cancelling_, true)) return;
  backend_.ring().cancel(key(UringOp::receive));
}

void UringSocket::on_receive(const UringCompletion& completion, std::string_view bytes) {
  --undispatched_;
  if (!completion.more()) receiving_ = cancelling_ = false;
  if (completion.result > 0) {
    window_ = bytes;
    traffic_.received += bytes.size();
    reacted_ = true;
    full_in_a_row_ = bytes.size() == UringRing::kBufferSize ? full_in_a_row_ + 1 : 0;
    if (full_in_a_row_ == kFullBuffers) expect_bulk(true);
  } else if (completion.result == 0) {
    ended_ = true;
  } else if (completion.result != -ENOBUFS && completion.result != -ECANCELED &&
             completion.result != -EINTR && completion.result != -EAGAIN) {
    receive_error_ = -completion.result;
  }
}

void UringSocket::keep_rest() {
  if (window_.empty()) return;
  if (window_.data() >= lent_.data() && window_.data() < lent_.data() + lent_.size()) return;
  spill_ += window_;
  window_ = {};
  if (spill_.size() <= kMostSpill || !receiving_ || std::exchange(cancelling_, true)) return;
  backend_.ring().cancel(key(UringOp::receive));
}

std::string_view UringSocket::take_ready(std::size_t limit) {
  if (window_.empty() && !lent_.empty()) lent_ = {};
  if (window_.empty() && !spill_.empty()) {
    lent_.swap(spill_);
    window_ = lent_;
  }
  const std::string_view taken = window_.substr(0, limit);
  window_.remove_prefix(taken.size());
  return taken;
}

bool UringSocket::receive_more(char* buffer, std::size_t size, int flags, Result<std::size_t>& out) {
  if (receive_error_ != 0) {
    out = stream_error(receive_error_);
    return true;
  }
  if (ended_) {
    out = 0;
    return true;
  }
  if (!is_bulk() || receiving_) {
    arm_receive();
    return false;
  }
  const Moved moved = readable_ ? receive_now(buffer, size, flags) : Moved{.blocked = true};
  if (moved.blocked) {
    readable_ = false;
    arm_poll(UringOp::poll_in);
    return false;
  }
  if (moved.error != 0) {
    receive_error_ = moved.error;
    out = stream_error(moved.error);
    return true;
  }
  if (moved.bytes < size) readable_ = false;
  ended_ = moved.bytes == 0;
  reacted_ = true;
  bulk_receives_left_ = moved.bytes >= kMostSpill ? kBulkReceives : bulk_receives_left_ - 1;
  out = moved.bytes;
  return true;
}

bool UringSocket::try_receive(Result<std::string_view>& out) {
  const std::size_t size = discarded_ ? kHeadAfterBulk : Loop::kScratch;
  if (const auto ready = take_ready(SIZE_MAX); !ready.empty()) {
    discarded_ = false;
    out = ready;
    return true;
  }
  Result<std::size_t> got;
  if (!receive_more(loop().scratch(), size, 0, got)) return false;
  discarded_ = false;
  if (got) {
    out = std::string_view(loop().scratch(), *got);
  } else {
    out = got.error();
  }
  return true;
}

bool UringSocket::try_receive_into(char* buffer, std::size_t size, Result<std::size_t>& out) {
  const auto ready = take_ready(size);
  if (ready.empty()) return receive_more(buffer, size, 0, out);
  std::memcpy(buffer, ready.data(), ready.size());
  out = ready.size();
  return true;
}

bool UringSocket::try_discard(std::uint64_t limit, Result<std::uint64_t>& out) {
  if (const auto ready = take_ready(limit); !ready.empty()) {
    out = ready.size();
    return true;
  }
  if (limit >= kLargeDiscard) expect_bulk(true);
  Result<std::size_t> got;
  const bool done =
      is_tcp() ? receive_more(nullptr, std::min(limit, kMostDiscard), MSG_TRUNC, got)
               : receive_more(loop().scratch(), std::min<std::uint64_t>(limit, Loop::kScratch), 0, got);
  if (!done) return false;
  discarded_ = true;
  if (got) {
    out = *got;
  } else {
    out = got.error();
  }
  return true;
}

void UringSocket::on_readable() {
  polling_in_ = false;
  readable_ = true;
}

bool UringSocket::has_news() {
  if (!window_.empty() || !spill_.empty() || ended_ || receive_error_ != 0 || undispatched_ > 0) return true;
  // Under a multishot receive whatever came is at hand already.
  return !receiving_ && Socket::has_news();
}

// ------------------------------------------------------------------------------------------------------ sending

bool UringSocket::try_establish(Result<void>& out) {
  if (!writable_) {
    arm_poll(UringOp::poll_out);
    return false;
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) out = socket_error(error);
  return true;
}

void UringSocket::on_writable() {
  polling_out_ = false;
  writable_ = true;
  if (!leftover_.empty()) send_leftover();
}

bool UringSocket::send_small(std::string_view& first, std::string_view& second) {
  small_ = backend_.ring().copy_for_send(first, second);
  if (small_.empty()) return false;
  io_uring_sqe& entry = queue(UringOp::small_send);
  const std::uint64_t user_data = entry.user_data;
  // Tried once, at submission; only a failure, or a part that did not fit, has a completion.
  io_uring_prep_send(&entry, descriptor(), small_.data(), small_.size(),
                     MSG_NOSIGNAL | MSG_DONTWAIT | MSG_WAITALL);
  entry.flags |= IOSQE_CQE_SKIP_SUCCESS;
  if (file_index_ >= 0) {
    entry.fd = file_index_;
    entry.flags |= IOSQE_FIXED_FILE;
  } else if (++small_sends_ == kSendsToRegister) {
    file_index_ = backend_.ring().register_file(descriptor());
  }
  entry.user_data = user_data;
  small_settled_ = backend_.ring().settlements();
  traffic_.sent += small_.size();
  first = second = {};
  return true;
}

void UringSocket::on_small_send_failed(int result) {
  if (result == -EAGAIN || result == -EINTR || result >= 0) {
    leftover_.assign(small_.substr(static_cast<std::size_t>(std::max(result, 0))));
    writable_ = false;
    arm_poll(UringOp::poll_out);
  } else {
    send_error_ = -result;
  }
}

bool UringSocket::note_send(const Moved& sent) {
  if (sent.error != 0) send_error_ = sent.error;
  if (!sent.blocked) return sent.error == 0;
  writable_ = false;
  arm_poll(UringOp::poll_out);
  return false;
}

bool UringSocket::send_leftover() {
  while (!leftover_.empty()) {
    if (!writable_) return false;
    const Moved sent = send_now(leftover_, {});
    if (!note_send(sent)) return false;
    traffic_.sent -= sent.bytes;  // counted when it was accepted
    leftover_.erase(0, sent.bytes);
  }
  leftover_ = {};
  if (shutdown_when_sent_) Socket::shutdown_send();
  return true;
}

bool UringSocket::may_send_directly(Result<void>& out) {
  if (small_settled_ == backend_.ring().settlements()) backend_.settle();
  const bool may = send_error_ == 0 && (leftover_.empty() || send_leftover());
  if (send_error_ != 0) out = stream_error(send_error_);
  if (!may && send_error_ == 0) arm_poll(UringOp::poll_out);
  return may;
}

bool UringSocket::try_send(std::string_view& first, std::string_view& second, bool& moved,
                           Result<void>& out) {
  if (first.empty() && second.empty()) return true;
  if (!may_send_directly(out)) return !out;
  if (reacted_ && writable_ && first.size() + second.size() <= kSmallSend && send_small(first, second)) {
    moved = true;
    return true;
  }
  reacted_ = false;
  while (!first.empty() || !second.empty()) {
    const Moved sent = writable_ ? send_now(first, second) : Moved{.blocked = true};
    if (!note_send(sent)) {
      if (send_error_ != 0) out = stream_error(send_error_);
      return !out;
    }
    moved = true;
    const std::size_t of_first = std::min(sent.bytes, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(sent.bytes - of_first);
  }
  return true;
}

bool UringSocket::try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                                Result<void>& out) {
  if (length > 0 && !may_send_directly(out)) return !out;
  reacted_ = false;
  while (length > 0) {
    const Moved sent = writable_ ? send_file_now(file, offset, length) : Moved{.blocked = true};
    if (!note_send(sent)) {
      if (send_error_ != 0) out = stream_error(send_error_);
      return !out;
    }
    moved = true;
    offset += sent.bytes;
    length -= sent.bytes;
  }
  return true;
}

void UringSocket::shutdown_send() {
  if (small_settled_ == backend_.ring().settlements()) backend_.settle();
  shutdown_when_sent_ = !leftover_.empty();
  if (!shutdown_when_sent_) Socket::shutdown_send();
}

}  // namespace plimsoll::net
