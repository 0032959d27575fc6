// Source addresses for outgoing connections, used round robin: lists, and whole networks in CIDR notation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace plimsoll::net {

// A network's addresses are computed as they are drawn, so a /8 costs no list. Belongs to one thread.
class SourcePool {
 public:
  SourcePool() = default;

  // "127.0.0.0/8", "10.0.0.5/32", "fd00::/64". Network and broadcast addresses are left out of IPv4 networks with a
  // prefix up to 30; smaller ones are used whole.
  static Checked<SourcePool> from_cidr(std::string_view cidr);
  // Commas; colons too where every part is an IPv4 address (zb's help says so).
  static Checked<SourcePool> from_list(std::string_view list);
  void add(const SourcePool& other);

  bool empty() const { return ranges_.empty(); }
  // The next address of the family (AF_INET, AF_INET6); nullopt where there is none.
  std::optional<Address> next(int family);
  // Moves the start on, so that threads do not all draw the same addresses.
  void skip(std::uint64_t count) {
    v4_position_ += count;
    v6_position_ += count;
  }

 private:
  struct Range {
    Address first;
    std::uint64_t count = 1;  // at most 2^32 of an IPv6 network are used
  };
  std::vector<Range> ranges_;
  // Each family's own: connections that alternate between families would else see every second address only.
  std::uint64_t v4_position_ = 0;
  std::uint64_t v6_position_ = 0;
};

}  // namespace plimsoll::net
