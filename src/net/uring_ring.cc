#include "net/uring_ring.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace plimsoll::net {
namespace {

constexpr unsigned kEntries = 1024;
constexpr unsigned kCompletions = 8192;
constexpr std::uint16_t kBufferGroup = 1;
constexpr std::size_t kPage = 4096;

std::string_view cause(int error) {
  switch (error) {
    case ENOSYS:
      return "this kernel has none";
    case EPERM:
    case EACCES:
      return "it is forbidden here, by a container's profile or by kernel.io_uring_disabled";
    case ENOMEM:
      return "no memory, or the limit on locked memory is too low";
    case EINVAL:
    case ENOBUFS:
      return "this kernel's is too old, Linux 6.0 is needed";
    default:
      return std::strerror(error);
  }
}

Refusal refusal(int error) {
  return {fmt::format("io_uring cannot be used: {} ({})", cause(error), strerrorname_np(error))};
}

// The newest way of running completions that the kernel knows: in the thread's own waits alone (6.1), then without
// interrupting it (5.19), then as ever.
int open_newest(UringRing::QueueInit queue_init, io_uring& ring) {
  constexpr std::array<unsigned, 3> kFlags{
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL, 0};
  int status = 0;
  for (const unsigned flags : kFlags) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    params.cq_entries = kCompletions;
    status = queue_init(kEntries, &ring, &params);
    if (status != -EINVAL) break;
  }
  return status;
}

// Not above the limit on descriptors, which liburing would raise behind our back.
int most_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 16 * 1024));
}

}  // namespace

void UringRing::FreeMemory::operator()(void* memory) const {
  std::free(memory);
}

Checked<std::unique_ptr<UringRing>> UringRing::open(QueueInit queue_init) {
  std::unique_ptr<UringRing> ring(new UringRing());
  if (const int status = open_newest(queue_init, ring->ring_); status < 0) return refusal(-status);
  ring->open_ = true;
  if (const int status = ring->register_buffers(); status < 0) return refusal(-status);
  if (const int status = ring->try_multishot(); status < 0) return refusal(-status);
  // Both save looking descriptors up; where they fail nothing is lost.
  io_uring_register_ring_fd(&ring->ring_);
  const int files = most_files();
  if (io_uring_register_files_sparse(&ring->ring_, static_cast<unsigned>(files)) == 0) ring->files_ = files;
  ring->send_memory_ = std::make_unique_for_overwrite<char[]>(kSendMemory);
  return ring;
}

UringRing::~UringRing() {
  if (!open_) return;
  // What was queued last are cancellations, which let sockets that are closed already go.
  io_uring_submit(&ring_);
  io_uring_queue_exit(&ring_);
}

int UringRing::register_buffers() {
  buffer_ring_.reset(
      static_cast<io_uring_buf_ring*>(std::aligned_alloc(kPage, kMostBuffers * sizeof(io_uring_buf))));
  buffer_memory_.reset(static_cast<char*>(std::aligned_alloc(kPage, kMostBuffers * kBufferSize)));
  if (!buffer_ring_ || !buffer_memory_) return -ENOMEM;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uint64_t>(buffer_ring_.get());
  registration.ring_entries = kMostBuffers;
  registration.bgid = kBufferGroup;
  const int status = io_uring_register_buf_ring(&ring_, &registration, 0);
  if (status < 0) return status;
  io_uring_buf_ring_init(buffer_ring_.get());
  add_buffers();
  return 0;
}

void UringRing::add_buffers() {
  const unsigned wanted = std::min(kMostBuffers, std::max(kFirstBuffers, 2 * supplied_));
  const unsigned more = wanted - supplied_;
  for (unsigned i = 0; i < more; ++i) {
    const unsigned id = supplied_ + i;
    io_uring_buf_ring_add(buffer_ring_.get(), buffer_memory_.get() + id * kBufferSize, kBufferSize,
                          static_cast<std::uint16_t>(id), io_uring_buf_ring_mask(kMostBuffers),
                          static_cast<int>(i));
  }
  io_uring_buf_ring_advance(buffer_ring_.get(), static_cast<int>(more));
  supplied_ = wanted;
}

// Whether receives work as the back end needs them: asked of a socket pair, since no flag of the kernel tells.
int UringRing::try_multishot() {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return -errno;
  prepare_receive(next({.op = UringOp::receive}), pair[0]);
  int status = write(pair[1], "x", 1) == 1 ? 0 : -errno;
  close(pair[1]);
  std::vector<UringCompletion> completions;
  // One byte, then the end.
  const Instant limit = now() + std::chrono::seconds(1);
  while (status == 0 && completions.size() < 2 && now() < limit) {
    submit_and_wait(limit);
    collect(completions);
    if (!completions.empty() && completions.front().result != 1) status = -EINVAL;
  }
  close(pair[0]);
  for (const UringCompletion& completion : completions) {
    if (completion.has_buffer()) recycle(completion);
  }
  if (status == 0 && (completions.size() != 2 || !completions[0].more())) status = -EINVAL;
  return status;
}

io_uring_sqe& UringRing::next(UringKey key) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  while (entry == nullptr) {
    submit();
    entry = io_uring_get_sqe(&ring_);
  }
  std::memset(entry, 0, sizeof *entry);
  entry->user_data = key.pack();
  return *entry;
}

void UringRing::prepare_receive(io_uring_sqe& entry, int socket) {
  const std::uint64_t key = entry.user_data;
  io_uring_prep_recv_multishot(&entry, socket, nullptr, 0, 0);
  entry.flags |= IOSQE_BUFFER_SELECT;
  entry.buf_group = kBufferGroup;
  entry.user_data = key;
}

void UringRing::cancel(UringKey key) {
  io_uring_sqe& entry = next({});
  io_uring_prep_cancel64(&entry, key.pack(), 0);
  entry.flags |= IOSQE_CQE_SKIP_SUCCESS;
  entry.user_data = UringKey{}.pack();
}

void UringRing::submit() {
  io_uring_submit(&ring_);
  ++submissions_;
}

void UringRing::submit_and_wait(Instant until) {
  ++submissions_;
  if (until == kNever) {
    io_uring_submit_and_wait(&ring_, 1);
    return;
  }
  const std::int64_t left = (until - now()).count();
  if (left <= 0) {
    io_uring_submit_and_get_events(&ring_);
    return;
  }
  __kernel_timespec limit{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  io_uring_cqe* first = nullptr;
  io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
}

void UringRing::collect(std::vector<UringCompletion>& into) {
  std::array<io_uring_cqe*, 256> batch;  // NOLINT: filled by liburing
  while (const unsigned count = io_uring_peek_batch_cqe(&ring_, batch.data(), batch.size())) {
    for (unsigned i = 0; i < count; ++i) {
      into.push_back({UringKey::unpack(batch[i]->user_data), batch[i]->res, batch[i]->flags});
    }
    io_uring_cq_advance(&ring_, count);
  }
  if (io_uring_sq_ready(&ring_) != 0) return;
  ++settlements_;
  send_used_ = 0;
}

std::string_view UringRing::copy_for_send(std::string_view first, std::string_view second) {
  const std::size_t size = first.size() + second.size();
  if (size > kSendMemory - send_used_) return {};
  char* const copy = send_memory_.get() + send_used_;
  std::memcpy(copy, first.data(), first.size());
  if (!second.empty()) std::memcpy(copy + first.size(), second.data(), second.size());
  send_used_ += size;
  return {copy, size};
}

int UringRing::register_file(int fd) {
  if (free_files_.empty()) {
    if (files_used_ == files_) return -1;
    free_files_.push_back(files_used_++);
  }
  const int index = free_files_.back();
  if (io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &fd, 1) != 1) return -1;
  free_files_.pop_back();
  return index;
}

void UringRing::unregister_file(int index) {
  const int none = -1;
  io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &none, 1);
  free_files_.push_back(index);
}

std::string_view UringRing::received(const UringCompletion& completion) const {
  const std::uint32_t id = completion.flags >> IORING_CQE_BUFFER_SHIFT;
  return {buffer_memory_.get() + id * kBufferSize, static_cast<std::size_t>(completion.result)};
}

void UringRing::recycle(const UringCompletion& completion) {
  const std::uint32_t id = completion.flags >> IORING_CQE_BUFFER_SHIFT;
  io_uring_buf_ring_add(buffer_ring_.get(), buffer_memory_.get() + id * kBufferSize, kBufferSize,
                        static_cast<std::uint16_t>(id), io_uring_buf_ring_mask(kMostBuffers), 0);
  io_uring_buf_ring_advance(buffer_ring_.get(), 1);
}

}  // namespace plimsoll::net
