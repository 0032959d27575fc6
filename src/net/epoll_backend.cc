// The epoll back end: edge-triggered, each socket registered once, one receive and one send a request.
//
// A receive that fills less than its buffer has drained the socket (epoll(7)), so no second call is made to see
// EAGAIN; the next edge says when to go on. An edge that carries a hang-up keeps the socket readable, since its
// end is seen only by receiving.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "net/backend.h"
#include "net/loop.h"
#include "net/socket.h"

namespace plimsoll::net {
namespace {

class EpollBackend;

// After a body that was discarded comes the head of a message whose body will be too: a large receive would copy what
// the next discard can drop.
constexpr std::size_t kHeadAfterBulk = 4096;

class EpollSocket final : public Socket {
 public:
  EpollSocket(Loop& loop, EpollBackend& backend, int fd, bool connecting);
  ~EpollSocket() override;

  bool try_receive(Result<std::string_view>& out) override;
  bool try_discard(std::uint64_t limit, Result<std::uint64_t>& out) override;
  bool try_send(std::string_view& first, std::string_view& second, bool& moved, Result<void>& out) override;
  bool try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                     Result<void>& out) override;
  bool try_establish(Result<void>& out) override;
  bool try_receive_into(char* buffer, std::size_t size, Result<std::size_t>& out) override;
  // No system call where no event has said that anything came.
  bool has_news() override { return readable_ && Socket::has_news(); }

  void on_events(std::uint32_t events);

 private:
  // Returns false where nothing is there yet.
  bool receive_some(char* buffer, std::size_t size, int flags, Result<std::size_t>& out);

  EpollBackend& backend_;
  std::uint32_t slot_ = 0;
  bool readable_ = false;
  bool hung_up_ = false;
  bool writable_;
  bool discarded_ = false;  // what came last was discarded unseen
};

class EpollBackend final : public Backend {
 public:
  explicit EpollBackend(int fd) : fd_(fd) {}
  EpollBackend(const EpollBackend&) = delete;
  EpollBackend& operator=(const EpollBackend&) = delete;
  ~EpollBackend() override { close(fd_); }

  IoKind kind() const override { return IoKind::epoll; }

  std::unique_ptr<Stream> adopt(Loop& loop, int socket, bool connecting) override {
    return std::make_unique<EpollSocket>(loop, *this, socket, connecting);
  }

  void watch(int fd, ReadyWatch& watch) override {
    const std::uint32_t slot = take_slot();
    slots_[slot].watch = &watch;
    watches_[&watch] = slot;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = key(slot);
    epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event);
  }

  void unwatch(int fd, ReadyWatch& watch) override {
    const auto at = watches_.find(&watch);
    if (at == watches_.end()) return;
    epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr);
    release_slot(at->second);
    watches_.erase(at);
  }

  void wait(Loop& loop, Instant until) override {
    std::array<epoll_event, 256> events;  // NOLINT: filled by the kernel
    const int count = wait_for_events(events, until);
    loop.tick();
    for (int i = 0; i < count; ++i) dispatch(events[static_cast<std::size_t>(i)]);
  }

  // The slot; errno stays in `error` where the system takes no more descriptors.
  std::uint32_t add(EpollSocket& socket, std::uint32_t interest, int& error) {
    const std::uint32_t slot = take_slot();
    slots_[slot].socket = &socket;
    epoll_event event{};
    event.events = interest;
    event.data.u64 = key(slot);
    if (epoll_ctl(fd_, EPOLL_CTL_ADD, socket.descriptor(), &event) != 0) error = errno;
    return slot;
  }

  // Closing the descriptor takes it out of the epoll set.
  void remove(std::uint32_t slot) { release_slot(slot); }

 private:
  // What a key in an event stands for. The generation tells events of a socket that is gone from those of the next
  // in its slot.
  struct Slot {
    EpollSocket* socket = nullptr;
    ReadyWatch* watch = nullptr;
    std::uint32_t generation = 0;
  };

  std::uint64_t key(std::uint32_t slot) const {
    return static_cast<std::uint64_t>(slots_[slot].generation) << 32 | slot;
  }

  int wait_for_events(std::array<epoll_event, 256>& events, Instant until) {
    const auto size = static_cast<int>(events.size());
    timespec timeout{};
    const timespec* limit = nullptr;
    if (until != kNever) {
      const auto left = std::max<std::int64_t>(0, (until - plimsoll::now()).count());
      timeout = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
      limit = &timeout;
    }
    if (has_pwait2_) {
      const int count = epoll_pwait2(fd_, events.data(), size, limit, nullptr);
      if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
      has_pwait2_ = false;  // a kernel before 5.11, or a container's profile from before it
    }
    // In milliseconds, rounded up: late rather than early, and never a busy loop.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::seconds(timeout.tv_sec) +
                                                                   Nanos(timeout.tv_nsec));
    constexpr std::int64_t kMost = 1'000'000;
    return epoll_wait(fd_, events.data(), size,
                      limit == nullptr ? -1 : static_cast<int>(std::min<std::int64_t>(left.count(), kMost)));
  }

  std::uint32_t take_slot() {
    if (free_slots_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  void release_slot(std::uint32_t slot) {
    slots_[slot] = {.generation = slots_[slot].generation + 1};
    free_slots_.push_back(slot);
  }

  void dispatch(const epoll_event& event) {
    const auto index = static_cast<std::uint32_t>(event.data.u64);
    const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
    const Slot slot = slots_[index];
    if (slot.generation != generation) return;
    if (slot.watch != nullptr) return slot.watch->ready();
    slot.socket->on_events(event.events);
    constexpr std::uint32_t kReadable = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    if ((event.events & kReadable) != 0) slot.socket->wake_receiver();
    // What the receiver did may have destroyed the socket and given its slot away.
    if (slots_[index].generation != generation) return;
    if ((event.events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) slot.socket->wake_sender();
  }

  int fd_;
  bool has_pwait2_ = true;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::unordered_map<ReadyWatch*, std::uint32_t> watches_;
};

EpollSocket::EpollSocket(Loop& loop, EpollBackend& backend, int fd, bool connecting)
    : Socket(loop, fd), backend_(backend), writable_(!connecting) {
  int error = 0;
  slot_ = backend_.add(*this, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, error);
  if (error != 0) abort({ErrorKind::out_of_descriptors, error, "epoll takes no more descriptors"});
}

EpollSocket::~EpollSocket() {
  backend_.remove(slot_);
}

void EpollSocket::on_events(std::uint32_t events) {
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) readable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hung_up_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) writable_ = true;
}

bool EpollSocket::receive_some(char* buffer, std::size_t size, int flags, Result<std::size_t>& out) {
  if (!readable_) return false;
  const Moved moved = receive_now(buffer, size, flags);
  if (moved.blocked) {
    readable_ = hung_up_ = false;
    return false;
  }
  if (moved.error != 0) {
    out = stream_error(moved.error);
    return true;
  }
  if (moved.bytes < size && !hung_up_) readable_ = false;
  out = moved.bytes;
  return true;
}

bool EpollSocket::try_receive(Result<std::string_view>& out) {
  Result<std::size_t> got;
  const std::size_t size = discarded_ ? kHeadAfterBulk : Loop::kScratch;
  if (!receive_some(loop().scratch(), size, 0, got)) return false;
  discarded_ = false;
  if (got) {
    out = std::string_view(loop().scratch(), *got);
  } else {
    out = got.error();
  }
  return true;
}

bool EpollSocket::try_discard(std::uint64_t limit, Result<std::uint64_t>& out) {
  // With MSG_TRUNC the kernel drops a TCP stream's bytes instead of copying them (tcp(7)); it then takes any size.
  constexpr std::uint64_t kPiece = 16 << 20;
  Result<std::size_t> got;
  const bool done =
      is_tcp() ? receive_some(nullptr, static_cast<std::size_t>(std::min(limit, kPiece)), MSG_TRUNC, got)
               : receive_some(loop().scratch(), std::min<std::size_t>(limit, Loop::kScratch), 0, got);
  if (!done) return false;
  discarded_ = true;
  if (got) {
    out = *got;
  } else {
    out = got.error();
  }
  return true;
}

bool EpollSocket::try_receive_into(char* buffer, std::size_t size, Result<std::size_t>& out) {
  return receive_some(buffer, size, 0, out);
}

bool EpollSocket::try_send(std::string_view& first, std::string_view& second, bool& moved,
                           Result<void>& out) {
  while (!first.empty() || !second.empty()) {
    if (!writable_) return false;
    const Moved sent = send_now(first, second);
    if (sent.blocked) {
      writable_ = false;
      return false;
    }
    if (sent.error != 0) {
      out = stream_error(sent.error);
      return true;
    }
    moved = true;
    const std::size_t of_first = std::min(sent.bytes, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(sent.bytes - of_first);
  }
  return true;
}

bool EpollSocket::try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                                Result<void>& out) {
  while (length > 0) {
    if (!writable_) return false;
    const Moved sent = send_file_now(file, offset, length);
    if (sent.blocked) {
      writable_ = false;
      return false;
    }
    if (sent.error != 0) {
      out = stream_error(sent.error);
      return true;
    }
    moved = true;
    offset += sent.bytes;
    length -= sent.bytes;
  }
  return true;
}

bool EpollSocket::try_establish(Result<void>& out) {
  if (!writable_) return false;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) out = socket_error(error);
  return true;
}

}  // namespace

Checked<std::unique_ptr<Backend>> make_epoll_backend() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return Refusal{fmt::format("cannot make an epoll descriptor: {}", std::strerror(errno))};
  return std::make_unique<EpollBackend>(fd);
}

}  // namespace plimsoll::net
