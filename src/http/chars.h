// Character classes of HTTP's grammar, as the loops over heads need them: inline, by table or by block.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plimsoll::http {

// tchar of RFC 9110, section 5.6.2.
constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 32] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}
inline constexpr std::array<bool, 256> kTokenChar = make_token_table();

constexpr bool is_token_char(char c) {
  return kTokenChar[static_cast<unsigned char>(c)];
}

// What must not stand in a field value (RFC 9110, section 5.5): control characters, but for the tab.
constexpr bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Sixteen bytes at once: the two loops below see every byte of every head.
namespace block {

using Bytes = unsigned char __attribute__((vector_size(16)));

inline Bytes load(const char* at) {
  Bytes bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

// A bit for each lane that is set, the first byte's lowest.
template <class Lanes>
unsigned bits(Lanes lanes) {
  using Mask = bool __attribute__((ext_vector_type(16)));
  return std::bit_cast<std::uint16_t>(__builtin_convertvector(lanes, Mask));
}

inline unsigned control_bits(Bytes bytes) {
  return bits(((bytes < 0x20) & (bytes != '\t')) | (bytes == 0x7f));
}

}  // namespace block

// The first control character, or `end`.
inline const char* find_control(const char* at, const char* end) {
  for (; end - at >= 16; at += 16) {
    const unsigned hits = block::control_bits(block::load(at));
    if (hits != 0) return at + std::countr_zero(hits);
  }
  while (at != end && !is_control(*at)) ++at;
  return at;
}

// The first character that cannot be in a token, or `end`. Blocks of letters, digits and hyphens are passed at once.
inline const char* find_token_end(const char* at, const char* end) {
  while (end - at >= 16) {
    const auto bytes = block::load(at);
    const auto plain = ((bytes | 0x20) - 'a' < 26) | (bytes - '0' < 10) | (bytes == '-');
    const int passed = std::countr_one(block::bits(plain));
    at += passed;
    if (passed == 16) continue;
    if (!is_token_char(*at)) return at;
    ++at;
  }
  while (at != end && is_token_char(*at)) ++at;
  return at;
}

}  // namespace plimsoll::http
