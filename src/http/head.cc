#include "http/head.h"

#include "http/chars.h"

namespace plimsoll::http {

void HeadReader::reset() {
  kept_ = complete_ || kept_;
  complete_ = false;
  if (!kept_) forget();
}

void HeadReader::forget() {
  kept_ = false;
  text_.clear();
  scanned_ = 0;
  line_begin_ = 0;
  line_count_ = 0;
}

std::size_t HeadReader::leading_blanks(std::string_view text) const {
  std::size_t size = 0;
  while (leading_blanks_ && text.substr(size).starts_with("\r\n")) size += 2;
  return size;
}

// The usual head comes in one piece and has no fault: it is parsed where it lies, and only its own bytes are copied.
// Anything else goes the slow way, which gives the faults their order.
bool HeadReader::take_whole(std::string_view bytes, Headers& headers) {
  const auto blanks = leading_blanks(bytes);
  const auto size = parse_head_lines(bytes.substr(blanks), first_line_, headers, facts_);
  if (!size || *size == 0) return false;
  if (headers.size() > limits_.max_fields || blanks + *size > limits_.max_bytes) return false;
  text_.assign(bytes.data() + blanks, *size);
  const auto moved = [&](std::string_view& view) {
    if (!view.empty()) view = {text_.data() + (view.data() - bytes.data() - blanks), view.size()};
  };
  moved(first_line_);
  moved(facts_.host);
  moved(facts_.expect);
  headers.rebase(bytes.data() + blanks, text_.data());
  return true;
}

// The size of the head, or 0: its blank line has not come.
Result<std::size_t, Fault> HeadReader::scan() {
  const char* const begin = text_.data();
  const char* const end = begin + text_.size();
  for (;;) {
    const char* const at = find_control(begin + scanned_, end);
    scanned_ = static_cast<std::size_t>(at - begin);
    if (end - at < 2 && (at == end || *at == '\r')) return 0;
    if (*at != '\r' || at[1] != '\n') return bad_line_end(at);
    const bool blank = scanned_ == line_begin_;
    scanned_ += 2;
    line_begin_ = scanned_;
    if (blank && (line_count_ > 0 || !leading_blanks_)) return scanned_;
    if (!blank && ++line_count_ > limits_.max_fields + 1) return Fault{431, "too many header fields"};
  }
}

Result<HeadReader::Taken, Fault> HeadReader::feed(std::string_view bytes, Headers& headers) {
  if (kept_) {
    if (bytes.starts_with(text_)) {
      kept_ = false;
      complete_ = true;
      return Taken{text_.size(), true};
    }
    forget();
  }
  const std::size_t before = text_.size();
  if (before == 0 && take_whole(bytes, headers)) {
    line_count_ = headers.size() + 1;
    complete_ = true;
    return Taken{text_.size() + leading_blanks(bytes), true};
  }
  // One byte more than the limit is enough to see that it is passed.
  text_.append(bytes.substr(0, limits_.max_bytes + 1 - before));
  const auto size = scan();
  if (!size) return size.error();
  if (*size != 0) text_.resize(*size);
  if (text_.size() > limits_.max_bytes) return Fault{431, "the head is too large"};
  const Taken taken{text_.size() - before, *size != 0};
  if (!taken.complete) return taken;
  const auto head = std::string_view(text_).substr(leading_blanks(text_));
  if (auto lines = parse_head_lines(head, first_line_, headers, facts_); !lines) return lines.error();
  complete_ = true;
  return taken;
}

}  // namespace plimsoll::http
