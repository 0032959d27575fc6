// An io_uring with what the back end needs around it: buffers that the kernel picks for receives, and memory for
// small sends that lives from their making to their submission.
//
// Belongs to the thread that opened it.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace plimsoll::net {

// What a completion is about: the owner's slot, the slot's generation, and which of its operations.
enum class UringOp : std::uint8_t { none, receive, poll_in, poll_out, small_send, watch };
struct UringKey {
  std::uint32_t slot = 0;  // below 2^28
  std::uint32_t generation = 0;
  UringOp op = UringOp::none;

  std::uint64_t pack() const {
    return static_cast<std::uint64_t>(generation) << 32 | slot << 4 | static_cast<std::uint32_t>(op);
  }
  static UringKey unpack(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits) >> 4, static_cast<std::uint32_t>(bits >> 32),
            static_cast<UringOp>(bits & 15)};
  }
};

struct UringCompletion {
  UringKey key;
  int result = 0;
  std::uint32_t flags = 0;

  bool more() const { return (flags & IORING_CQE_F_MORE) != 0; }
  bool has_buffer() const { return (flags & IORING_CQE_F_BUFFER) != 0; }
};

class UringRing {
 public:
  // io_uring_queue_init_params(), or a stand-in that plays a system which refuses.
  using QueueInit = int (*)(unsigned entries, io_uring* ring, io_uring_params* params);

  // The refusal names the cause: no io_uring in the kernel, forbidden, or too old (multishot receive needs 6.0).
  static Checked<std::unique_ptr<UringRing>> open(QueueInit queue_init);
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;
  ~UringRing();

  // The next submission entry, zeroed but for its key; submits what is queued where the queue is full.
  io_uring_sqe& next(UringKey key);
  // Completes the entry as a multishot receive into provided buffers.
  static void prepare_receive(io_uring_sqe& entry, int socket);
  void cancel(UringKey key);

  void submit();
  // Submits, then waits for a completion or for `until`.
  void submit_and_wait(Instant until);
  // Appends all completions to `into`.
  void collect(std::vector<UringCompletion>& into);
  // Grows with every submission: tells whether an entry may still be queued.
  std::uint64_t submissions() const { return submissions_; }

  // A copy of both pieces that lasts until it is settled; empty where there is no room.
  std::string_view copy_for_send(std::string_view first, std::string_view second);
  // Grows when all that was queued has been submitted and its immediate completions collected.
  std::uint64_t settlements() const { return settlements_; }

  // Puts a descriptor into the kernel's table for this ring, which saves looking it up at every operation; the index
  // for IOSQE_FIXED_FILE, or -1 where there is no room. The table holds the file open until it is taken out.
  int register_file(int fd);
  void unregister_file(int index);

  // What a completed receive holds, until its buffer is given back to the kernel.
  std::string_view received(const UringCompletion& completion) const;
  void recycle(const UringCompletion& completion);
  // More buffers, up to a limit, after the kernel has run out of them.
  void add_buffers();
  std::size_t buffers() const { return supplied_; }

  static constexpr std::size_t kBufferSize = 4096;
  static constexpr unsigned kFirstBuffers = 256;
  static constexpr unsigned kMostBuffers = 2048;

 private:
  UringRing() = default;
  int register_buffers();
  int try_multishot();

  struct FreeMemory {
    void operator()(void* memory) const;
  };
  template <class T>
  using Pages = std::unique_ptr<T, FreeMemory>;

  io_uring ring_{};
  bool open_ = false;
  std::uint64_t submissions_ = 0;
  std::uint64_t settlements_ = 0;

  Pages<io_uring_buf_ring> buffer_ring_;
  Pages<char> buffer_memory_;
  unsigned supplied_ = 0;

  int files_ = 0;  // the size of the table
  int files_used_ = 0;
  std::vector<int> free_files_;

  static constexpr std::size_t kSendMemory = 256 * 1024;
  std::unique_ptr<char[]> send_memory_;
  std::size_t send_used_ = 0;
};

}  // namespace plimsoll::net
