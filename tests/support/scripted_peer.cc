#include "tests/support/scripted_peer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace plimsoll::test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Script& Script::add(Act act, std::uint64_t count, std::string bytes, milliseconds time) {
  steps_.push_back({act, count, std::move(bytes), time});
  return *this;
}

Script& Script::expect_head() {
  return add(Act::expect_head);
}
Script& Script::expect_bytes(std::size_t count) {
  return add(Act::expect_bytes, count);
}
Script& Script::expect_frame(std::uint8_t type) {
  return add(Act::expect_frame, type);
}
Script& Script::expect_end() {
  return add(Act::expect_end);
}
Script& Script::send(std::string bytes) {
  return add(Act::send, 0, std::move(bytes));
}
Script& Script::send_split(std::string bytes, std::size_t position, milliseconds between) {
  position = std::min(position, bytes.size());
  std::string rest = bytes.substr(position);
  bytes.resize(position);
  return send(std::move(bytes)).pause(between).send(std::move(rest));
}
Script& Script::send_byte_by_byte(std::string bytes, milliseconds between) {
  return add(Act::send_byte_by_byte, 0, std::move(bytes), between);
}
Script& Script::send_filler(std::uint64_t count, char byte) {
  return add(Act::send_filler, count, std::string(65536, byte));
}
Script& Script::pause(milliseconds time) {
  return add(Act::pause, 0, {}, time);
}
Script& Script::silence() {
  return add(Act::silence);
}
Script& Script::stall() {
  return add(Act::stall);
}
Script& Script::half_close() {
  return add(Act::half_close);
}
Script& Script::close() {
  return add(Act::close);
}
Script& Script::reset() {
  return add(Act::reset);
}
Script& Script::again() {
  return add(Act::again);
}

namespace {

std::system_error failure(const char* what) {
  return {errno, std::generic_category(), what};
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int number() const { return fd_; }

 private:
  int fd_;
};

Descriptor listen_on(const std::string& ip) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  const bool is_v4 = inet_pton(AF_INET, ip.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr) != 1) throw std::invalid_argument(ip);
  Descriptor listener(socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int fd = listener.number();
  if (fd < 0) throw failure("scripted peer: socket");
  const int on = 1;
  if (!is_v4) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const int bound = is_v4 ? bind(fd, reinterpret_cast<const sockaddr*>(&v4), sizeof v4)
                          : bind(fd, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  if (bound != 0 || listen(fd, 4096) != 0) throw failure("scripted peer: listen");
  return listener;
}

std::uint16_t port_of(int fd) {
  sockaddr_in6 name{};
  socklen_t size = sizeof name;
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  return ntohs(name.sin6_port);  // at the same place in sockaddr_in
}

enum class Wait : std::uint8_t { ready, stopped, timed_out };

// Until `fd` has one of `events` or an error, the peer is stopped, or the time is up.
Wait wait_for(int fd, short events, int stop, milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now()).count();
    std::array<pollfd, 2> fds{pollfd{.fd = stop, .events = POLLIN, .revents = 0},
                              pollfd{.fd = fd, .events = events, .revents = 0}};
    const int count = poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(0, left)));
    if (fds[0].revents != 0) return Wait::stopped;
    if (count > 0) return Wait::ready;
    if (count == 0) return Wait::timed_out;
    if (errno != EINTR) throw failure("scripted peer: poll");
  }
}

}  // namespace

// What the threads share. The mutex guards all that is not const.
struct ScriptedPeer::Shared {
  Shared(std::vector<Script> to_play, const std::string& on_ip);

  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kStepLimit, condition);
  }

  const std::vector<Script> scripts;
  const std::string ip;
  const Descriptor listener;
  const Descriptor stop{eventfd(0, EFD_CLOEXEC)};
  const std::uint16_t port;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<std::string> complaints;
  std::thread acceptor;
};

// One accepted connection and the thread that plays its script.
class ScriptedPeer::Connection {
 public:
  Connection(Shared& shared, std::size_t index, int fd) : shared_(shared), index_(index), socket_(fd) {}

  void start() {
    thread_ = std::thread([this] { play(); });
  }
  void join() { thread_.join(); }

  // Guarded by the mutex of Shared.
  std::string received;
  bool finished = false;

 private:
  using Act = Script::Act;

  void play() {
    const auto& steps = shared_.scripts[std::min(index_, shared_.scripts.size() - 1)].steps_;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].act == Act::reset) return end(true);
      if (steps[i].act == Act::close) break;
      if (!step(steps[i])) return end(false);
      if (steps[i].act == Act::again) i = static_cast<std::size_t>(-1);
    }
    // Reading what is left keeps close(2) from answering unread bytes with a reset.
    shutdown(socket_.number(), SHUT_WR);
    while (receive()) {
    }
    end(false);
  }

  void end(bool hard) {
    if (hard) {
      const linger now_and_hard{.l_onoff = 1, .l_linger = 0};
      setsockopt(socket_.number(), SOL_SOCKET, SO_LINGER, &now_and_hard, sizeof now_and_hard);
    }
    {
      const Descriptor closed(std::move(socket_));
    }
    const std::lock_guard lock(shared_.mutex);
    finished = true;
    shared_.changed.notify_all();
  }

  // False when the script cannot go on.
  bool step(const Script::Step& step) {
    switch (step.act) {
      case Act::expect_head:
        return expect_head();
      case Act::expect_bytes:
        return expect_bytes(step.count);
      case Act::expect_frame:
        return expect_frame(step.count);
      case Act::expect_end:
        while (receive()) {
        }
        return ended_ || unmet("the end of the stream");
      case Act::silence:
        while (receive()) {
        }
        return true;
      case Act::send:
        return send(step.bytes);
      case Act::send_byte_by_byte:
        return std::ranges::all_of(step.bytes,
                                   [&](const char& byte) { return send({&byte, 1}) && pause(step.time); });
      case Act::send_filler:
        for (std::uint64_t left = step.count; left > 0;) {
          const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left, step.bytes.size()));
          if (!send({step.bytes.data(), piece})) return false;
          left -= piece;
        }
        return true;
      case Act::pause:
        return pause(step.time);
      case Act::stall:
        wait_for(socket_.number(), 0, shared_.stop.number(), kStepLimit);
        return true;
      case Act::half_close:
        return shutdown(socket_.number(), SHUT_WR) == 0;
      case Act::close:
      case Act::reset:
      case Act::again:
        return true;
    }
    return false;
  }

  bool expect_head() {
    std::size_t end = 0;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return unmet("a head");
    }
    pending_.erase(0, end + 4);
    return true;
  }

  bool expect_bytes(std::uint64_t count) {
    while (pending_.size() < count) {
      if (!receive()) return unmet(fmt::format("{} bytes, got {}", count, pending_.size()));
    }
    pending_.erase(0, static_cast<std::size_t>(count));
    return true;
  }

  bool expect_frame(std::uint64_t type) {
    constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (;;) {
      while (pending_.size() < 9 || pending_.size() < frame_size()) {
        if (!receive()) return unmet(fmt::format("a frame of type {}", type));
        if (pending_.starts_with(kPreface)) pending_.erase(0, kPreface.size());
      }
      const auto got = static_cast<unsigned char>(pending_[3]);
      pending_.erase(0, frame_size());
      if (got == type) return true;
    }
  }
  std::size_t frame_size() const {
    const auto byte = [this](std::size_t i) { return std::size_t{static_cast<unsigned char>(pending_[i])}; };
    return 9 + (byte(0) << 16U | byte(1) << 8U | byte(2));
  }

  bool pause(milliseconds time) { return wait_for(-1, 0, shared_.stop.number(), time) == Wait::timed_out; }

  // False at the end of the stream, on a reset, when stopped, or when nothing comes for kStepLimit.
  bool receive() {
    if (wait_for(socket_.number(), POLLIN, shared_.stop.number(), kStepLimit) != Wait::ready) return false;
    std::array<char, 65536> buffer;  // NOLINT: filled by recv
    const auto got = recv(socket_.number(), buffer.data(), buffer.size(), 0);
    ended_ = got == 0;
    if (got <= 0) return got < 0 && errno == EAGAIN;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    pending_ += bytes;
    const std::lock_guard lock(shared_.mutex);
    received += bytes;
    shared_.changed.notify_all();
    return true;
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EAGAIN ||
                 wait_for(socket_.number(), POLLOUT, shared_.stop.number(), kStepLimit) != Wait::ready) {
        return unmet("a client that takes what is sent");
      }
    }
    return true;
  }

  bool unmet(std::string_view expected) {
    const std::lock_guard lock(shared_.mutex);
    shared_.complaints.push_back(fmt::format("connection {}: expected {}", index_, expected));
    return false;
  }

  Shared& shared_;
  std::size_t index_;
  Descriptor socket_;
  std::string pending_;  // received since the last expectation was met
  bool ended_ = false;
  std::thread thread_;
};

ScriptedPeer::Shared::Shared(std::vector<Script> to_play, const std::string& on_ip)
    : scripts(std::move(to_play)), ip(on_ip), listener(listen_on(on_ip)), port(port_of(listener.number())) {}

ScriptedPeer::ScriptedPeer(std::vector<Script> scripts, const std::string& ip) {
  if (scripts.empty()) scripts.emplace_back();
  shared_ = std::make_unique<Shared>(std::move(scripts), ip);
  shared_->acceptor = std::thread([this] { accept_all(); });
}

ScriptedPeer::~ScriptedPeer() {
  // Never read, so that it stays readable for every thread that polls it.
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(shared_->stop.number(), &one, sizeof one);
  shared_->acceptor.join();
  for (const auto& connection : shared_->connections) connection->join();
}

void ScriptedPeer::accept_all() {
  while (true) {
    const Wait waited =
        wait_for(shared_->listener.number(), POLLIN, shared_->stop.number(), std::chrono::hours(1));
    if (waited == Wait::stopped) return;
    const int fd = accept4(shared_->listener.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(shared_->mutex);
    shared_->connections.push_back(std::make_unique<Connection>(*shared_, shared_->connections.size(), fd));
    shared_->connections.back()->start();
    shared_->changed.notify_all();
  }
}

std::uint16_t ScriptedPeer::port() const {
  return shared_->port;
}

std::string ScriptedPeer::authority() const {
  return shared_->ip.contains(':') ? fmt::format("[{}]:{}", shared_->ip, shared_->port)
                                   : fmt::format("{}:{}", shared_->ip, shared_->port);
}

std::size_t ScriptedPeer::connections() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->connections.size();
}

std::string ScriptedPeer::received(std::size_t connection) const {
  const std::lock_guard lock(shared_->mutex);
  return connection < shared_->connections.size() ? shared_->connections[connection]->received
                                                  : std::string();
}

bool ScriptedPeer::wait_received(std::size_t connection, std::size_t count) const {
  return shared_->wait([&] {
    return connection < shared_->connections.size() &&
           shared_->connections[connection]->received.size() >= count;
  });
}

bool ScriptedPeer::wait_finished(std::size_t connection) const {
  return shared_->wait(
      [&] { return connection < shared_->connections.size() && shared_->connections[connection]->finished; });
}

std::vector<std::string> ScriptedPeer::complaints() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->complaints;
}

}  // namespace plimsoll::test
