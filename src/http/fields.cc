#include "http/fields.h"

#include <cstring>

#include "http/chars.h"

namespace plimsoll::http {
namespace {

std::uint64_t load(const char* at, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, size);
  return word;
}

// Whether a token or a value without control characters is this word of lower-case letters and hyphens: under the
// 0x20 bit none of its other characters meets those. Compared in words, the last one overlapping.
template <std::size_t N>
bool named(std::string_view text, const char (&lower)[N]) {
  constexpr std::size_t size = N - 1;
  constexpr std::size_t step = size < 8 ? 4 : 8;
  constexpr std::uint64_t fold = 0x2020202020202020U;
  if (text.size() != size) return false;
  for (std::size_t at = 0; at + step <= size; at += step) {
    if (((load(text.data() + at, step) ^ load(lower + at, step)) & ~fold) != 0) return false;
  }
  return ((load(text.data() + size - step, step) ^ load(lower + size - step, step)) & ~fold) == 0;
}

std::string_view trim_blanks(const char* begin, const char* end) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (begin != end && blank(*begin)) ++begin;
  while (begin != end && blank(end[-1])) --end;
  return {begin, end};
}

void note_length(std::string_view value, FieldFacts& facts) {
  if (const auto length = parse_length(value); length && !facts.content_length) {
    facts.content_length = length;
    return;
  }
  facts.length_repeated = true;
  ListMembers members(value);
  bool any = false;
  while (const auto member = members.next()) {
    any = true;
    const auto length = parse_length(*member);
    if (!facts.content_length) facts.content_length = length;
    facts.length_malformed |= !length || facts.content_length != length;
  }
  facts.length_malformed |= !any;
}

// Parameters (RFC 9112, section 7) are refused: no coding has any, and quotes in them can hide a comma.
void note_codings(std::string_view value, FieldFacts& facts) {
  facts.transfer_encoding = true;
  ListMembers members(value);
  bool any = false;
  while (const auto coding = members.next()) {
    any = true;
    facts.chunked_last = named(*coding, "chunked");
    facts.coding_malformed |= !is_token(*coding) || (facts.chunked_last && facts.chunked);
    facts.chunked |= facts.chunked_last;
    facts.other_coding |= !facts.chunked_last;
  }
  facts.coding_malformed |= !any;
}

void note_connection(std::string_view value, FieldFacts& facts) {
  if (named(value, "keep-alive")) {
    facts.keep_alive = true;
    return;
  }
  ListMembers members(value);
  while (const auto member = members.next()) {
    facts.close |= named(*member, "close");
    facts.keep_alive |= named(*member, "keep-alive");
  }
}

void note(const HeaderView& field, FieldFacts& facts) {
  switch (field.name.size()) {
    case 4:
      if (!named(field.name, "host")) return;
      ++facts.hosts;
      facts.host = field.value;
      return;
    case 6:
      if (named(field.name, "expect")) facts.expect = field.value;
      return;
    case 10:
      if (named(field.name, "connection")) note_connection(field.value, facts);
      return;
    case 14:
      if (named(field.name, "content-length")) note_length(field.value, facts);
      return;
    case 17:
      if (named(field.name, "transfer-encoding")) note_codings(field.value, facts);
      return;
    default:
      return;
  }
}

// What is wrong with the line at `begin`, whose name ends at `name_end`.
Fault bad_field(const char* begin, const char* name_end, const char* end) {
  if (*begin == ' ' || *begin == '\t') return {400, "a folded header field (obs-fold)"};
  if (name_end == begin) return {400, "a header field without a name"};
  if (is_control(*name_end)) return {400, "a header field without a colon"};
  const std::string_view rest(name_end, static_cast<std::size_t>(find_control(name_end, end) - name_end));
  if (!rest.contains(':')) return {400, "a header field without a colon"};
  return {400, "a header field's name has a character that it must not have"};
}

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

bool is_line_end(const char* at) {
  return at[0] == '\r' && at[1] == '\n';
}

}  // namespace

Fault bad_line_end(const char* at) {
  if (*at == '\r') return {400, "a bare CR in the head"};
  if (*at == '\n') return {400, "a line ends in a bare LF"};
  return {400, "a control character in the head"};
}

Result<std::size_t, Fault> parse_head_lines(std::string_view text, std::string_view& first, Headers& headers,
                                            FieldFacts& facts) {
  const char* const end = text.data() + text.size();
  const char* at = find_control(text.data(), end);
  headers.clear();
  facts = {};
  if (end - at < 2) return 0;
  if (!is_line_end(at)) return bad_line_end(at);
  first = between(text.data(), at);
  for (at += 2; end - at >= 2; at += 2) {
    if (is_line_end(at)) return static_cast<std::size_t>(at + 2 - text.data());
    // A line's end is no token character: the search may look past it, in whole blocks.
    const char* const name_end = find_token_end(at, end);
    if (name_end == end) return 0;
    if (*name_end != ':' || name_end == at) return bad_field(at, name_end, end);
    const char* const line_end = find_control(name_end, end);
    if (end - line_end < 2) return 0;
    if (!is_line_end(line_end)) return bad_line_end(line_end);
    const HeaderView field{between(at, name_end), trim_blanks(name_end + 1, line_end)};
    headers.add(field.name, field.value);
    note(field, facts);
    at = line_end;
  }
  return 0;
}

std::optional<std::uint64_t> parse_length(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return std::nullopt;
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value)) return std::nullopt;
  }
  return value;
}

}  // namespace plimsoll::http
