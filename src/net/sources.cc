#include "net/sources.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"

namespace plimsoll::net {
namespace {

// `address` plus `offset`, on the bytes of either family.
Address advanced(const Address& address, std::uint64_t offset) {
  std::array<std::uint8_t, 16> bytes{};
  sockaddr_storage storage{};
  std::memcpy(&storage, address.data(), address.size());
  const bool v4 = address.family() == AF_INET;
  void* place = v4 ? static_cast<void*>(&reinterpret_cast<sockaddr_in*>(&storage)->sin_addr)
                   : static_cast<void*>(&reinterpret_cast<sockaddr_in6*>(&storage)->sin6_addr);
  const std::size_t size = v4 ? 4 : 16;
  std::memcpy(bytes.data(), place, size);
  std::uint64_t carry = offset;
  for (std::size_t i = size; i-- > 0 && carry != 0;) {
    const std::uint64_t sum = bytes[i] + (carry & 0xff);
    bytes[i] = static_cast<std::uint8_t>(sum);
    carry = (carry >> 8) + (sum >> 8);
  }
  std::memcpy(place, bytes.data(), size);
  return {reinterpret_cast<const sockaddr*>(&storage), address.size()};
}

// The address with all host bits cleared.
Address network_of(const Address& address, unsigned prefix) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address.data(), address.size());
  const bool v4 = address.family() == AF_INET;
  auto* bytes = v4 ? reinterpret_cast<std::uint8_t*>(&reinterpret_cast<sockaddr_in*>(&storage)->sin_addr)
                   : reinterpret_cast<std::uint8_t*>(&reinterpret_cast<sockaddr_in6*>(&storage)->sin6_addr);
  const unsigned bits = v4 ? 32 : 128;
  for (unsigned bit = prefix; bit < bits; ++bit) {
    bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80U >> (bit % 8)));
  }
  return {reinterpret_cast<const sockaddr*>(&storage), address.size()};
}

}  // namespace

Checked<SourcePool> SourcePool::from_cidr(std::string_view cidr) {
  const Refusal refusal{
      fmt::format("'{}' is not a network: expected ADDRESS/PREFIX, such as 127.0.0.0/8", cidr)};
  const auto slash = cidr.find('/');
  if (slash == std::string_view::npos) return refusal;
  const auto address = Address::parse_ip(cidr.substr(0, slash), 0);
  const auto prefix = parse_u64(cidr.substr(slash + 1));
  if (!address || !prefix) return refusal;
  const std::uint64_t bits = address->family() == AF_INET ? 32 : 128;
  if (*prefix > bits) return refusal;
  const std::uint64_t host_bits = std::min<std::uint64_t>(bits - *prefix, 32);
  Range range{network_of(*address, static_cast<unsigned>(*prefix)), 1ULL << host_bits};
  if (address->family() == AF_INET && *prefix <= 30) {
    range.first = advanced(range.first, 1);
    range.count -= 2;
  }
  SourcePool pool;
  pool.ranges_.push_back(range);
  return pool;
}

Checked<SourcePool> SourcePool::from_list(std::string_view list) {
  std::vector<std::string_view> parts = split(list, ',');
  const auto is_v4 = [](std::string_view part) {
    const auto address = Address::parse_ip(part, 0);
    return address && address->family() == AF_INET;
  };
  if (parts.size() == 1) {
    const auto by_colon = split(list, ':');
    if (by_colon.size() > 1 && std::ranges::all_of(by_colon, is_v4)) parts = by_colon;
  }
  SourcePool pool;
  for (const std::string_view part : parts) {
    const auto address = Address::parse_ip(trim(part), 0);
    if (!address) {
      return Refusal{fmt::format(
          "'{}' in '{}' is not an IP address: expected a list such as 127.0.0.2,127.0.0.3", part, list)};
    }
    pool.ranges_.push_back({*address, 1});
  }
  return pool;
}

void SourcePool::add(const SourcePool& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
}

std::optional<Address> SourcePool::next(int family) {
  std::uint64_t total = 0;
  for (const Range& range : ranges_) total += range.first.family() == family ? range.count : 0;
  if (total == 0) return std::nullopt;
  std::uint64_t at = (family == AF_INET ? v4_position_ : v6_position_)++ % total;
  for (const Range& range : ranges_) {
    if (range.first.family() != family) continue;
    if (at < range.count) return advanced(range.first, at);
    at -= range.count;
  }
  return std::nullopt;
}

}  // namespace plimsoll::net
