#include "http/response_parser.h"

#include <algorithm>

#include "http/chars.h"

namespace plimsoll::http {
namespace {

constexpr std::string_view kVersionPrefix = "HTTP/1.";

// A peer that speaks something else is told from a slow one by its first bytes.
Result<void, Fault> check_beginning(std::string_view partial) {
  const auto size = std::min(partial.size(), kVersionPrefix.size());
  if (partial.substr(0, size) == kVersionPrefix.substr(0, size)) return {};
  if (partial[0] == '\x15') return Fault{400, "the peer answers with a TLS alert"};
  return Fault{400, "not an HTTP/1 response"};
}

}  // namespace

void ResponseParser::start(Method method, bool upgrade) {
  reader_.reset();
  body_.start(Framing::none);
  method_ = method;
  upgrade_ = upgrade;
  head_done_ = false;
  continued_ = false;
  interim_ = 0;
  head_bytes_ = 0;
  failure_ = nullptr;
}

Error ResponseParser::fail(const Fault& fault) {
  failure_ = fault.text;
  return {ErrorKind::protocol, 0, failure_};
}

Result<MessageStep> ResponseParser::feed(std::string_view bytes) {
  if (failure_ != nullptr) return Error{ErrorKind::protocol, 0, failure_};
  MessageStep step;
  if (!head_done_) {
    if (auto taken = feed_head(bytes, step); !taken) return fail(taken.error());
    if (!head_done_) return step;
  }
  const auto body = body_.feed(bytes.substr(step.consumed));
  if (!body) return fail(body.error());
  step.consumed += body->consumed;
  step.body = body->data;
  step.done = body->done;
  return step;
}

Result<void, Fault> ResponseParser::feed_head(std::string_view bytes, MessageStep& step) {
  while (!head_done_ && step.consumed < bytes.size()) {
    const auto taken = reader_.feed(bytes.substr(step.consumed), head_.headers);
    if (!taken || !taken->complete) {
      if (auto begun = check_beginning(reader_.text()); !begun) return begun;
    }
    if (!taken) return taken.error();
    step.consumed += taken->consumed;
    head_bytes_ += taken->consumed;
    if (!taken->complete) return {};
    if (auto parsed = take_head(); !parsed) return parsed;
    step.head = head_done_;
  }
  return {};
}

Result<void, Fault> ResponseParser::take_head() {
  if (auto line = parse_status_line(reader_.first_line()); !line) return line;
  if (head_.status == 101 && !upgrade_) return Fault{400, "101 Switching Protocols, which was not asked for"};
  if (head_.status < 200 && head_.status != 101) {
    ++interim_;
    continued_ |= head_.status == 100;
    reader_.reset();
    return {};
  }
  return frame(reader_.facts());
}

// HTTP-version SP status-code SP [ reason-phrase ] (RFC 9112, section 4).
Result<void, Fault> ResponseParser::parse_status_line(std::string_view line) {
  constexpr Fault kMalformed{400, "a malformed status line"};
  if (!line.starts_with(kVersionPrefix)) return Fault{400, "not an HTTP/1 response"};
  if (line.size() < 12 || !is_digit(line[7]) || line[8] != ' ') return kMalformed;
  if (line.size() > 12 && line[12] != ' ') return kMalformed;
  if (line[9] < '1' || line[9] > '9' || !is_digit(line[10]) || !is_digit(line[11])) {
    return Fault{400, "a status that is no number from 100 to 999"};
  }
  head_.minor_version = line[7] == '0' ? 0 : 1;
  head_.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  head_.reason = line.substr(std::min<std::size_t>(13, line.size()));
  return {};
}

bool ResponseParser::bodiless() const {
  const bool tunnel = method_ == Method::connect && head_.status / 100 == 2;
  return method_ == Method::head || head_.status == 204 || head_.status == 304 || head_.status == 101 ||
         tunnel;
}

// RFC 9112, section 6.3, for responses; the numbers are its items.
Result<void, Fault> ResponseParser::frame(const FieldFacts& facts) {
  if (facts.length_malformed)
    return Fault{400, "a Content-Length that is malformed or said twice differently"};
  head_.content_length = facts.content_length;
  head_.transfer_coded = facts.other_coding;
  if (bodiless()) {  // 1, 2
    head_.framing = Framing::none;
  } else if (facts.transfer_encoding) {  // 3, 4
    if (facts.content_length) return Fault{400, "both Content-Length and Transfer-Encoding"};
    if (facts.coding_malformed) return Fault{400, "a malformed Transfer-Encoding"};
    if (head_.minor_version == 0) return Fault{400, "a Transfer-Encoding from an HTTP/1.0 peer"};
    head_.framing = facts.chunked_last ? Framing::chunked : Framing::until_close;
  } else if (facts.content_length) {  // 6
    head_.framing = Framing::length;
  } else {  // 8
    head_.framing = Framing::until_close;
  }
  // RFC 9112, section 9.3. After an upgrade or into a tunnel no further HTTP request can go.
  const bool persists = !facts.close && (head_.minor_version >= 1 || facts.keep_alive);
  const bool switched = head_.status == 101 || (method_ == Method::connect && head_.status / 100 == 2);
  head_.keep_alive = persists && !switched && head_.framing != Framing::until_close;
  body_.start(head_.framing, head_.content_length.value_or(0));
  head_done_ = true;
  return {};
}

Result<void> ResponseParser::finish() {
  if (failure_ != nullptr) return Error{ErrorKind::protocol, 0, failure_};
  if (untouched()) return Error{ErrorKind::closed, 0, "the peer closed before it answered"};
  if (!head_done_) return Error{ErrorKind::closed, 0, "the peer closed within the head of its answer"};
  if (!body_.finish()) return Error{ErrorKind::short_body, 0, "the peer closed before the end of the body"};
  return ok();
}

}  // namespace plimsoll::http
