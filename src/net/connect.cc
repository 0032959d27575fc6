#include "net/connect.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "net/socket.h"

namespace plimsoll::net {
namespace {

bool set_congestion(int fd, const std::string& algorithm) {
  return algorithm.empty() || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(),
                                         static_cast<socklen_t>(algorithm.size())) == 0;
}

int bind_source(int fd, const Address& source) {
  const int on = 1;
  setsockopt(fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  return bind(fd, source.data(), source.size());
}

}  // namespace

Task<Result<std::unique_ptr<Stream>>> connect(Loop& loop, Address to, const ConnectOptions& options,
                                              Patience patience) {
  const int fd = socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return socket_error(errno);
  set_no_delay(fd);
  if (!set_congestion(fd, options.congestion)) {
    const int error = errno;
    close(fd);
    co_return Error{ErrorKind::connect_refused, error, "the congestion control asked for is not available"};
  }
  if (options.source && bind_source(fd, *options.source) != 0) {
    const Error error = errno == EADDRNOTAVAIL ? Error{ErrorKind::connect_refused, errno,
                                                       "the source address is not this machine's"}
                                               : socket_error(errno);
    close(fd);
    co_return error;
  }
  const int status = ::connect(fd, to.data(), to.size());
  if (status != 0 && errno != EINPROGRESS) {
    // A Unix socket whose backlog is full answers EAGAIN: as good as a refusal.
    const Error error = errno == EAGAIN || errno == ENOENT || errno == EACCES
                            ? Error{ErrorKind::connect_refused, errno, ""}
                            : socket_error(errno);
    close(fd);
    co_return error;
  }
  std::unique_ptr<Stream> stream = loop.backend().adopt(loop, fd, status != 0);
  if (auto established = co_await stream->established(patience); !established) {
    Error error = established.error();
    if (error.kind == ErrorKind::timeout) error.kind = ErrorKind::connect_timeout;
    // Before the handshake has ended a reset is the peer's way of refusing.
    if (error.kind == ErrorKind::reset) error.kind = ErrorKind::connect_refused;
    co_return error;
  }
  co_return std::move(stream);
}

Checked<Listener> Listener::open(const Address& address, const ListenOptions& options) {
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return Refusal{fmt::format("cannot listen on {}: {}", address.to_string(), std::strerror(errno))};
  Listener listener(fd, address);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (options.reuse_port) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (address.family() == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (!set_congestion(fd, options.congestion)) {
    return Refusal{fmt::format("congestion control '{}' is not available here", options.congestion)};
  }
  // Accepted sockets inherit this.
  set_no_delay(fd);
  if (bind(fd, address.data(), address.size()) != 0 || listen(fd, options.backlog) != 0) {
    return Refusal{fmt::format("cannot listen on {}: {}", address.to_string(), std::strerror(errno))};
  }
  listener.address_ = Address::local_of(fd);
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(other.address_), stopped_(other.stopped_) {}

Listener::~Listener() {
  if (fd_ >= 0) close(fd_);
}

// Waits until the listener is readable or stopped.
class Listener::Acceptable final : public ReadyWatch {
 public:
  Acceptable(Loop& loop, Listener& listener) : loop_(loop), listener_(listener) {}
  Acceptable(const Acceptable&) = delete;
  Acceptable& operator=(const Acceptable&) = delete;
  ~Acceptable() override { stop_watching(); }

  bool await_ready() const noexcept { return listener_.stopped_; }
  void await_suspend(std::coroutine_handle<> handle) {
    listener_.waiting_ = handle;
    watching_ = true;
    loop_.backend().watch(listener_.fd_, *this);
  }
  void await_resume() { stop_watching(); }
  void ready() override {
    if (listener_.waiting_) std::exchange(listener_.waiting_, nullptr).resume();
  }

 private:
  void stop_watching() {
    if (!std::exchange(watching_, false)) return;
    listener_.waiting_ = nullptr;
    loop_.backend().unwatch(listener_.fd_, *this);
  }

  Loop& loop_;
  Listener& listener_;
  bool watching_ = false;
};

namespace {

// The connection died while it waited to be accepted, or its network did (accept(2), "Error handling").
bool concerns_one_connection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Task<Result<std::unique_ptr<Stream>>> Listener::accept(Loop& loop) {
  for (;;) {
    if (stopped_) co_return Error{ErrorKind::cancelled, 0, ""};
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) co_return loop.backend().adopt(loop, fd, false);
    if (errno == EAGAIN) {
      co_await Acceptable(loop, *this);
    } else if (!concerns_one_connection(errno)) {
      const Error error =
          is_shortage(errno) ? Error{ErrorKind::out_of_descriptors, errno, ""} : socket_error(errno);
      co_await loop.sleep_for(std::chrono::milliseconds(50));
      co_return error;
    }
  }
}

void Listener::stop() {
  stopped_ = true;
  if (waiting_) std::exchange(waiting_, nullptr).resume();
}

}  // namespace plimsoll::net
