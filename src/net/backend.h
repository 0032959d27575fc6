// What a Loop asks of the kernel: connected sockets as streams, readiness of other descriptors, and to wait.
//
// Two implementations, epoll (epoll_backend.h) and io_uring (uring_backend.h), pass the same tests. A back end is
// used by its loop's thread alone.
#pragma once

#include <coroutine>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/stream.h"

namespace plimsoll::net {

enum class IoKind { automatic, epoll, uring };
std::string_view name(IoKind kind);  // "epoll", "uring" as --io and the record spell them

// Interest in a descriptor that is no stream: a listener, a pipe, an eventfd, a child. Level-triggered.
class ReadyWatch {
 public:
  virtual ~ReadyWatch() = default;
  virtual void ready() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual IoKind kind() const = 0;
  // Takes over a non-blocking socket. `connecting`: connect(2) was called and has not ended yet.
  virtual std::unique_ptr<Stream> adopt(Loop& loop, int socket, bool connecting) = 0;
  // Calls watch.ready() while the descriptor is readable; the watch outlives the interest.
  virtual void watch(int fd, ReadyWatch& watch) = 0;
  virtual void unwatch(int fd, ReadyWatch& watch) = 0;
  // Waits until something happens or `until` comes, then wakes what it concerns. Calls loop.tick() after the wait
  // and before it wakes anybody.
  virtual void wait(Loop& loop, Instant until) = 0;
};

Checked<std::unique_ptr<Backend>> make_epoll_backend();
// A refusal where the system has no io_uring or forbids it. To be called in the thread that uses it.
Checked<std::unique_ptr<Backend>> make_uring_backend();

}  // namespace plimsoll::net
