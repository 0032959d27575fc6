// The io_uring back end: one system call a turn submits all that the turn has queued and waits for what comes.
//
// - Small messages arrive by multishot receives in buffers that the kernel picks from a pool of the loop; a view is
//   handed to the waiting coroutine at once and its buffer goes back when that coroutine waits again. What nobody
//   waits for is copied aside, and the receive is cancelled where that becomes much.
// - Bulk is received by poll and recv(2), which takes large pieces and, with MSG_TRUNC, discards without a copy.
// - Small sends are copied and queued: they count as sent, as they would with the copy in the socket's buffer, and
//   what the kernel could not take after all is sent later. Large ones go by poll and send(2) or sendfile(2).
//
// So the kernel never holds memory of a caller, and an operation can be given up at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "net/backend.h"
#include "net/uring_ring.h"

namespace plimsoll::net {

class UringSocket;

class UringBackend final : public Backend {
 public:
  explicit UringBackend(std::unique_ptr<UringRing> ring) : ring_(std::move(ring)) {}

  IoKind kind() const override { return IoKind::uring; }
  std::unique_ptr<Stream> adopt(Loop& loop, int socket, bool connecting) override;
  void watch(int fd, ReadyWatch& watch) override;
  void unwatch(int fd, ReadyWatch& watch) override;
  void wait(Loop& loop, Instant until) override;

  // --- for its sockets.
  UringRing& ring() { return *ring_; }
  UringKey add(UringSocket& socket);
  void remove(UringKey key);
  // Submits what is queued and notes failures of small sends, without waking anybody.
  void settle();

 private:
  // What completions belong to. The generation tells those of an owner that is gone from those of the next.
  struct Slot {
    UringSocket* socket = nullptr;
    ReadyWatch* watch = nullptr;
    int watched = -1;
    std::uint32_t generation = 0;
  };
  UringKey take_slot();
  void release_slot(std::uint32_t slot);
  Slot* find(UringKey key);
  void collect();
  void dispatch(const UringCompletion& completion);
  void deliver(UringSocket& socket, const UringCompletion& completion);
  void poll_watch(UringKey key);

  std::unique_ptr<UringRing> ring_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::unordered_map<ReadyWatch*, UringKey> watches_;
  std::vector<UringCompletion> inbox_;  // collected, not yet dispatched from next_ on
  std::size_t next_ = 0;
  bool short_of_buffers_ = false;
};

// As make_uring_backend(), on a system whose io_uring_queue_init_params() is `queue_init`.
Checked<std::unique_ptr<Backend>> make_uring_backend(UringRing::QueueInit queue_init);

}  // namespace plimsoll::net
