// A connected, non-blocking socket and what both back ends do with it the same way, by plain system calls.
#pragma once

#include <optional>

#include "net/stream.h"

namespace plimsoll::net {

class Socket : public Stream {
 public:
  Socket(Loop& loop, int fd);
  ~Socket() override;

  void shutdown_send() override;
  void reset_on_close() override;
  bool has_news() override;
  int descriptor() const override { return fd_; }

 protected:
  // One system call each; a Result of 0 moved bytes and `blocked` set where the kernel would block.
  struct Moved {
    std::size_t bytes = 0;
    bool blocked = false;
    int error = 0;
  };
  Moved send_now(std::string_view first, std::string_view second);
  Moved send_file_now(int file, std::uint64_t offset, std::uint64_t length);
  Moved receive_now(char* buffer, std::size_t size, int flags = 0);
  // Whether MSG_TRUNC discards (tcp(7)); asked of the kernel once, when it is first needed.
  bool is_tcp();

 private:
  int fd_;
  std::optional<bool> is_tcp_;
};

// The error of an established connection, whose ETIMEDOUT (retransmissions or keep-alive probes that nobody
// answered) is not one of connecting.
Error stream_error(int errno_value);

// Holds back what does not fill a segment until it is turned off (TCP_CORK): a head goes out with the file that follows
// it. Accepts failure (Unix sockets).
void set_cork(int fd, bool on);

// Options that every connection of ours has: no delay. Accepts failure (Unix sockets).
void set_no_delay(int fd);

}  // namespace plimsoll::net
