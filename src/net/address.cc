#include "net/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace plimsoll::net {

Address::Address(const sockaddr* address, socklen_t length)
    : length_(std::min<socklen_t>(length, sizeof storage_)) {
  std::memcpy(&storage_, address, length_);
}

Checked<Address> Address::parse_ip(std::string_view ip, std::uint16_t port) {
  const std::string text(ip);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    return Address(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    return Address(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  }
  return Refusal{fmt::format("'{}' is not an IPv4 or IPv6 address", ip)};
}

Checked<Address> Address::unix_path(std::string_view path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path) {
    return Refusal{fmt::format("'{}' is not the path of a Unix socket (1 to {} characters)", path,
                               sizeof name.sun_path - 1)};
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  return Address(reinterpret_cast<const sockaddr*>(&name), sizeof name);
}

Address Address::local_of(int fd) {
  Address address;
  address.length_ = sizeof address.storage_;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.length_);
  return address;
}

Address Address::peer_of(int fd) {
  Address address;
  address.length_ = sizeof address.storage_;
  getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.length_);
  return address;
}

std::uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return 0;
}

void Address::set_port(std::uint16_t port) {
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = htons(port);
}

bool Address::is_loopback() const {
  if (family() == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr) >> 24) == 127;
  }
  if (family() == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr);
  }
  return family() == AF_UNIX;
}

std::string Address::ip() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, text, sizeof text);
  } else if (family() == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, text, sizeof text);
  } else if (family() == AF_UNIX) {
    return reinterpret_cast<const sockaddr_un*>(&storage_)->sun_path;
  }
  return text;
}

std::string Address::to_string() const {
  if (family() == AF_INET6) return fmt::format("[{}]:{}", ip(), port());
  if (family() == AF_INET) return fmt::format("{}:{}", ip(), port());
  return ip();
}

bool operator==(const Address& a, const Address& b) {
  return a.length_ == b.length_ && std::memcmp(&a.storage_, &b.storage_, a.length_) == 0;
}

Checked<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
  if (auto literal = Address::parse_ip(host, port)) return std::vector{*literal};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  if (status != 0) return Refusal{fmt::format("cannot resolve '{}': {}", host, gai_strerror(status))};
  std::vector<Address> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const Address address(entry->ai_addr, entry->ai_addrlen);
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  if (addresses.empty()) return Refusal{fmt::format("cannot resolve '{}': no address", host)};
  return addresses;
}

Checked<Address> parse_listen(std::string_view text) {
  const Refusal refusal{
      fmt::format("'{}' is not an address to listen on: expected ADDR:PORT, [IPV6]:PORT or PORT", text)};
  const auto colon = text.rfind(':');
  std::string_view ip = colon == std::string_view::npos ? "127.0.0.1" : text.substr(0, colon);
  const auto port = parse_u64(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!port || *port > 65535) return refusal;
  if (ip.size() > 2 && ip.front() == '[' && ip.back() == ']') {
    ip = ip.substr(1, ip.size() - 2);
  } else if (ip.find(':') != std::string_view::npos) {
    return refusal;
  }
  if (ip == "localhost") ip = "127.0.0.1";
  auto address = Address::parse_ip(ip, static_cast<std::uint16_t>(*port));
  if (!address) return refusal;
  return *address;
}

}  // namespace plimsoll::net
