// Where a connection goes to or comes from: an IPv4, IPv6 or Unix socket address, and the names that lead there.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::net {

class Address {
 public:
  Address() = default;
  Address(const sockaddr* address, socklen_t length);

  // A literal IPv4 or IPv6 address, without brackets; nullopt-like Refusal for anything else.
  static Checked<Address> parse_ip(std::string_view ip, std::uint16_t port);
  static Checked<Address> unix_path(std::string_view path);
  // Of a socket: its own or its peer's.
  static Address local_of(int fd);
  static Address peer_of(int fd);

  int family() const { return storage_.ss_family; }
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  bool is_loopback() const;
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return length_; }

  // "127.0.0.1", "::1", or the path.
  std::string ip() const;
  // "127.0.0.1:5000", "[::1]:5000", or the path.
  std::string to_string() const;

  friend bool operator==(const Address& a, const Address& b);

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

// All addresses of a host, in the system's order, each once. Blocks: called before anything is measured.
Checked<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

// "ADDR:PORT", "[V6]:PORT", "PORT" (loopback), as --listen takes them.
Checked<Address> parse_listen(std::string_view text);

}  // namespace plimsoll::net
