#include "http/head.h"

#include "http/chars.h"

namespace plimsoll::http {
namespace {

// `lower` is a literal of lower-case letters and hyphens: no other token character meets those under the 0x20 bit.
bool named(std::string_view name, std::string_view lower) {
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if ((name[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

bool same_word(std::string_view word, std::string_view lower) {
  return word.size() == lower.size() && named(word, lower);
}

std::string_view trim_blanks(const char* begin, const char* end) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (begin != end && blank(*begin)) ++begin;
  while (begin != end && blank(end[-1])) --end;
  return {begin, end};
}

void note_length(std::string_view value, FieldFacts& facts) {
  ListMembers members(value);
  bool any = false;
  while (const auto member = members.next()) {
    const auto length = parse_length(*member);
    any = true;
    if (!length) facts.length_malformed = true;
    if (facts.content_length) {
      facts.length_repeated = true;
      if (facts.content_length != length) facts.length_malformed = true;
    }
    if (!facts.content_length) facts.content_length = length;
  }
  if (!any) facts.length_malformed = true;
}

void note_codings(std::string_view value, FieldFacts& facts) {
  facts.transfer_encoding = true;
  ListMembers members(value);
  bool any = false;
  while (const auto member = members.next()) {
    any = true;
    const auto coding = member->substr(0, member->find_first_of("; \t"));
    facts.chunked_last = same_word(coding, "chunked");
    if (facts.chunked_last) {
      facts.coding_malformed |= facts.chunked || coding.size() != member->size();
      facts.chunked = true;
    } else {
      facts.other_coding = true;
      facts.coding_malformed |= !is_token(coding);
    }
  }
  if (!any) facts.coding_malformed = true;
}

void note_connection(std::string_view value, FieldFacts& facts) {
  ListMembers members(value);
  while (const auto member = members.next()) {
    facts.close |= same_word(*member, "close");
    facts.keep_alive |= same_word(*member, "keep-alive");
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

Fault bad_field(std::string_view line, std::size_t name_size) {
  if (line[0] == ' ' || line[0] == '\t') return {400, "a folded header field (obs-fold)"};
  if (name_size == line.size()) return {400, "a header field without a colon"};
  if (name_size == 0) return {400, "a header field without a name"};
  return {400, "a header field's name has a character that it must not have"};
}

}  // namespace

void HeadReader::reset() {
  text_.clear();
  lines_.clear();
  scanned_ = 0;
  line_begin_ = 0;
}

std::string_view HeadReader::line(std::size_t index) const {
  const Line& line = lines_[index];
  return std::string_view(text_).substr(line.begin, line.end - line.begin);
}

Result<std::optional<std::size_t>, Fault> HeadReader::scan(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  for (const char* at = begin + scanned_;;) {
    at = find_control(at, end);
    scanned_ = static_cast<std::size_t>(at - begin);
    if (at == end) return std::nullopt;
    if (*at == '\n') return Fault{400, "a line ends in a bare LF"};
    if (*at != '\r') return Fault{400, "a control character in the head"};
    if (at + 1 == end) return std::nullopt;
    if (at[1] != '\n') return Fault{400, "a bare CR in the head"};
    const bool blank = scanned_ == line_begin_;
    if (blank && (!lines_.empty() || !leading_blanks_)) return std::optional(scanned_ + 2);
    if (!blank) {
      if (lines_.size() > limits_.max_fields) return Fault{431, "too many header fields"};
      lines_.push_back({static_cast<std::uint32_t>(line_begin_), static_cast<std::uint32_t>(scanned_)});
    }
    at += 2;
    line_begin_ = scanned_ + 2;
  }
}

Result<HeadReader::Taken, Fault> HeadReader::feed(std::string_view bytes) {
  constexpr Fault kTooLarge{431, "the head is too large"};
  const std::size_t before = text_.size();
  // One byte more than the limit is enough to see that it is passed.
  const std::string_view usable = bytes.substr(0, limits_.max_bytes + 1 - before);
  // The usual head comes in one piece: it is scanned where it lies, and only its own bytes are copied.
  if (before != 0) text_.append(usable);
  const auto size = scan(before == 0 ? usable : std::string_view(text_));
  if (!size) return size.error();
  if (!*size) {
    if (before == 0) text_.assign(usable);
    if (text_.size() > limits_.max_bytes) return kTooLarge;
    return Taken{usable.size(), false};
  }
  if (**size > limits_.max_bytes) return kTooLarge;
  if (before == 0) {
    text_.assign(usable.substr(0, **size));
  } else {
    text_.resize(**size);
  }
  return Taken{**size - before, true};
}

Result<void, Fault> parse_fields(const HeadReader& reader, Headers& headers, FieldFacts& facts) {
  for (std::size_t i = 1; i < reader.line_count(); ++i) {
    const std::string_view line = reader.line(i);
    std::size_t size = 0;
    while (size < line.size() && is_token_char(line[size])) ++size;
    if (size == 0 || size == line.size() || line[size] != ':') return bad_field(line, size);
    const HeaderView field{line.substr(0, size),
                           trim_blanks(line.data() + size + 1, line.data() + line.size())};
    headers.add(field.name, field.value);
    note(field, facts);
  }
  return {};
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
