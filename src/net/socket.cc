#include "net/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "net/loop.h"

namespace plimsoll::net {

Socket::Socket(Loop& loop, int fd) : Stream(loop), fd_(fd) {
  loop.enlist(*this);
}

Socket::~Socket() {
  loop().delist(*this);
  close(fd_);
}

void Socket::shutdown_send() {
  shutdown(fd_, SHUT_WR);
}

void Socket::reset_on_close() {
  const linger now_and_hard{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now_and_hard, sizeof now_and_hard);
}

bool Socket::has_news() {
  char byte = 0;
  const auto got = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

Socket::Moved Socket::send_now(std::string_view first, std::string_view second) {
  for (;;) {
    ssize_t sent = 0;
    if (second.empty()) {
      sent = ::send(fd_, first.data(), first.size(), MSG_NOSIGNAL);
    } else {
      std::array<iovec, 2> pieces{iovec{const_cast<char*>(first.data()), first.size()},
                                  iovec{const_cast<char*>(second.data()), second.size()}};
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = pieces.size();
      sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
    }
    if (sent >= 0) {
      traffic_.sent += static_cast<std::uint64_t>(sent);
      return {.bytes = static_cast<std::size_t>(sent)};
    }
    if (errno == EAGAIN) return {.blocked = true};
    if (errno != EINTR) return {.error = errno};
  }
}

Socket::Moved Socket::send_file_now(int file, std::uint64_t offset, std::uint64_t length) {
  // The kernel moves at most 2 GiB a call; smaller pieces keep the loop fair to other connections.
  constexpr std::uint64_t kPiece = 4 << 20;
  for (;;) {
    auto position = static_cast<off_t>(offset);
    const auto sent = sendfile(fd_, file, &position, std::min(length, kPiece));
    if (sent > 0) {
      traffic_.sent += static_cast<std::uint64_t>(sent);
      return {.bytes = static_cast<std::size_t>(sent)};
    }
    if (sent == 0) return {.error = EIO};  // the file became shorter than its size said
    if (errno == EAGAIN) return {.blocked = true};
    if (errno != EINTR) return {.error = errno};
  }
}

Socket::Moved Socket::receive_now(char* buffer, std::size_t size, int flags) {
  for (;;) {
    const auto got = recv(fd_, buffer, size, flags);
    if (got >= 0) {
      traffic_.received += static_cast<std::uint64_t>(got);
      return {.bytes = static_cast<std::size_t>(got)};
    }
    if (errno == EAGAIN) return {.blocked = true};
    if (errno != EINTR) return {.error = errno};
  }
}

bool Socket::is_tcp() {
  if (!is_tcp_) is_tcp_ = local().family() != AF_UNIX;
  return *is_tcp_;
}

Error stream_error(int errno_value) {
  if (errno_value == ETIMEDOUT) return {ErrorKind::reset, errno_value, ""};
  return socket_error(errno_value);
}

void set_cork(int fd, bool on) {
  const int value = on ? 1 : 0;
  setsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

void set_no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace plimsoll::net
