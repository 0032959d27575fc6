#include "http/body_decoder.h"

#include <algorithm>

#include "http/chars.h"

namespace plimsoll::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void BodyDecoder::start(Framing framing, std::uint64_t length) {
  left_ = 0;
  line_bytes_ = 0;
  body_bytes_ = 0;
  wire_bytes_ = 0;
  switch (framing) {
    case Framing::none:
      state_ = State::done;
      break;
    case Framing::length:
      left_ = length;
      state_ = length == 0 ? State::done : State::length;
      break;
    case Framing::chunked:
      state_ = State::size_first;
      break;
    case Framing::until_close:
      state_ = State::until_close;
      break;
  }
}

std::uint64_t BodyDecoder::skippable() const {
  if (state_ == State::length || state_ == State::data) return left_;
  return state_ == State::until_close ? kUnbounded : 0;
}

void BodyDecoder::skip(std::uint64_t count) {
  count = std::min(count, skippable());
  body_bytes_ += count;
  wire_bytes_ += count;
  if (state_ == State::until_close) return;
  left_ -= count;
  if (left_ == 0 && state_ == State::length) state_ = State::done;
  if (left_ == 0 && state_ == State::data) state_ = State::data_cr;
}

std::string_view BodyDecoder::take(std::string_view bytes) {
  const std::string_view data = bytes.substr(0, std::min<std::uint64_t>(skippable(), bytes.size()));
  skip(data.size());
  return data;
}

Result<BodyDecoder::Step, Fault> BodyDecoder::feed(std::string_view bytes) {
  Step step;
  if (state_ == State::length) {
    step.data = take(bytes);
    step.consumed = step.data.size();
  }
  while (step.consumed < bytes.size() && state_ != State::done) {
    if (skippable() > 0) {
      if (!step.data.empty()) break;
      step.data = take(bytes.substr(step.consumed));
      step.consumed += step.data.size();
    } else {
      if (auto framed = frame(bytes[step.consumed]); !framed) return framed.error();
      ++step.consumed;
      ++wire_bytes_;
    }
  }
  step.done = state_ == State::done;
  return step;
}

bool BodyDecoder::finish() {
  if (state_ == State::until_close) state_ = State::done;
  return state_ == State::done;
}

Result<void, Fault> BodyDecoder::frame(char c) {
  switch (state_) {
    case State::data_cr:
      return expect(c, '\r', State::data_lf);
    case State::data_lf:
      return expect(c, '\n', State::size_first);
    case State::trailer_first:
    case State::trailer_name:
    case State::trailer_value:
    case State::trailer_lf:
    case State::last_lf:
      return frame_trailer(c);
    default:
      return frame_size(c);
  }
}

Result<void, Fault> BodyDecoder::expect(char c, char wanted, State next) {
  if (c != wanted) return Fault{400, "a chunk does not end where its size says"};
  state_ = next;
  return {};
}

Result<void, Fault> BodyDecoder::add_digit(char c) {
  if (left_ >> 60 != 0) return Fault{400, "a chunk size is too large"};
  left_ = left_ << 4 | static_cast<std::uint64_t>(hex_digit(c));
  state_ = State::size;
  return {};
}

// chunk-size [ BWS chunk-ext ] CRLF
Result<void, Fault> BodyDecoder::frame_size(char c) {
  if (++line_bytes_ > kMaxChunkLine) return Fault{400, "a chunk size line is too long"};
  if (state_ == State::size_lf) {
    if (c != '\n') return Fault{400, "a bare CR in a chunk size line"};
    line_bytes_ = 0;
    state_ = left_ == 0 ? State::trailer_first : State::data;
    return {};
  }
  if (hex_digit(c) >= 0 && (state_ == State::size_first || state_ == State::size)) return add_digit(c);
  if (state_ == State::size_first) return Fault{400, "a chunk size is not a hexadecimal number"};
  if (c == '\r') {
    state_ = State::size_lf;
  } else if (state_ == State::extension) {
    if (is_control(c)) return Fault{400, "a control character in a chunk extension"};
  } else if (c == ';') {
    state_ = State::extension;
  } else if (c == ' ' || c == '\t') {
    state_ = State::size_blank;
  } else {
    return Fault{400, "a chunk size is not a hexadecimal number"};
  }
  return {};
}

// *( field-line CRLF ) CRLF
Result<void, Fault> BodyDecoder::frame_trailer(char c) {
  if (++line_bytes_ > kMaxTrailers) return Fault{431, "the trailer fields are too large"};
  const bool named = is_token_char(c);
  switch (state_) {
    case State::trailer_first:
      if (c != '\r' && !named) return Fault{400, "a trailer field is malformed"};
      state_ = c == '\r' ? State::last_lf : State::trailer_name;
      break;
    case State::trailer_name:
      if (c != ':' && !named) return Fault{400, "a trailer field is malformed"};
      if (c == ':') state_ = State::trailer_value;
      break;
    case State::trailer_value:
      if (c == '\r') {
        state_ = State::trailer_lf;
      } else if (is_control(c)) {
        return Fault{400, "a control character in a trailer field"};
      }
      break;
    default:
      if (c != '\n') return Fault{400, "a bare CR in the trailer fields"};
      state_ = state_ == State::last_lf ? State::done : State::trailer_first;
      break;
  }
  return {};
}

}  // namespace plimsoll::http
