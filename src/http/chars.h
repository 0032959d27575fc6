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

// The first control character, or `end`. Sixteen bytes at a time: this loop sees every byte of every head.
inline const char* find_control(const char* at, const char* end) {
  using Block = unsigned char __attribute__((vector_size(16)));
  using Mask = bool __attribute__((ext_vector_type(16)));
  for (; end - at >= 16; at += 16) {
    Block block;
    std::memcpy(&block, at, sizeof block);
    const auto hits = ((block < 0x20) & (block != '\t')) | (block == 0x7f);
    const auto bits = std::bit_cast<std::uint16_t>(__builtin_convertvector(hits, Mask));
    if (bits != 0) return at + std::countr_zero(bits);
  }
  while (at != end && !is_control(*at)) ++at;
  return at;
}

}  // namespace plimsoll::http
