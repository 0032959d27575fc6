#include "http/request_parser.h"

#include <algorithm>

#include "base/text.h"
#include "http/chars.h"

namespace plimsoll::http {
namespace {

constexpr std::string_view kPrefaceHead = kHttp2Preface.substr(0, 18);
constexpr char kTlsHandshake = '\x16';

bool is_target_char(char c) {
  return c != ' ' && c != '#' && !is_control(c) && c != '\t';
}

// reg-name of RFC 3986, section 3.2.2, escapes not looked into.
bool is_name_char(char c) {
  return is_alpha(c) || is_digit(c) || std::string_view("-._~!$&'()*+,;=%").contains(c);
}

bool is_ipv6_char(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f') || c == ':' || c == '.';
}

// uri-host [ ":" port ]; may be empty.
bool is_host(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos || close < 3) return false;
    if (!std::ranges::all_of(text.substr(1, close - 1), is_ipv6_char)) return false;
    text.remove_prefix(close + 1);
    if (text.empty()) return true;
    if (text[0] != ':') return false;
  } else {
    const auto name = text.substr(0, text.find(':'));
    if (!std::ranges::all_of(name, is_name_char)) return false;
    text.remove_prefix(name.size());
  }
  return text.empty() || std::ranges::all_of(text.substr(1), is_digit);
}

}  // namespace

RequestParser::RequestParser(const RequestLimits& limits)
    : reader_(limits.head), max_target_(limits.max_target) {
  reader_.allow_leading_blank_lines();
}

void RequestParser::start() {
  if (head_done_) first_ = false;
  reader_.reset();
  body_.start(Framing::none);
  head_done_ = false;
  head_bytes_ = 0;
}

Fault RequestParser::fail(const Fault& fault) {
  failed_ = true;
  return fault_ = fault;
}

Result<MessageStep, Fault> RequestParser::feed(std::string_view bytes) {
  if (failed_) return fault_;
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

Result<void, Fault> RequestParser::feed_head(std::string_view bytes, MessageStep& step) {
  if (preface_matched_ > 0) return match_preface(bytes, step);
  if (first_ && head_bytes_ == 0 && bytes.starts_with(kTlsHandshake)) {
    return Fault{0, "a TLS handshake on a plain-text port"};
  }
  const auto taken = reader_.feed(bytes, head_.headers);
  if (!taken) {
    if (taken.error().status == 431 && reader_.in_first_line())
      return Fault{414, "the request line is too long"};
    return taken.error();
  }
  step.consumed = taken->consumed;
  head_bytes_ += taken->consumed;
  if (!taken->complete) return {};
  if (first_ && head_bytes_ == kPrefaceHead.size() && reader_.text() == kPrefaceHead) {
    preface_matched_ = kPrefaceHead.size();
    return match_preface(bytes.substr(step.consumed), step);
  }
  if (auto parsed = take_head(); !parsed) return parsed;
  step.head = true;
  return {};
}

Result<void, Fault> RequestParser::match_preface(std::string_view bytes, MessageStep& step) {
  if (http2() && !bytes.empty()) return Fault{505, "HTTP/2, which is not offered here"};
  const auto wanted = kHttp2Preface.substr(preface_matched_, bytes.size());
  if (!bytes.starts_with(wanted)) return Fault{400, "a broken HTTP/2 preface"};
  preface_matched_ += wanted.size();
  step.consumed += wanted.size();
  head_bytes_ += wanted.size();
  return {};
}

Result<void, Fault> RequestParser::take_head() {
  if (auto line = parse_request_line(reader_.first_line()); !line) return line;
  if (auto host = check_host(reader_.facts()); !host) return host;
  return frame(reader_.facts());
}

// method SP request-target SP HTTP-version (RFC 9112, section 3).
Result<void, Fault> RequestParser::parse_request_line(std::string_view line) {
  constexpr Fault kMalformed{400, "a malformed request line"};
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == last) return kMalformed;  // one space or none: HTTP/0.9 is not spoken
  head_.method_text = line.substr(0, first);
  head_.target = line.substr(first + 1, last - first - 1);
  const auto version = line.substr(last + 1);
  if (!is_token(head_.method_text)) return kMalformed;
  if (version.size() != 8 || !version.starts_with("HTTP/") || !is_digit(version[5]) || version[6] != '.' ||
      !is_digit(version[7])) {
    return kMalformed;
  }
  if (version[5] != '1') return Fault{505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
  head_.minor_version = version[7] == '0' ? 0 : 1;
  head_.method = parse_method(head_.method_text);
  return parse_target();
}

// RFC 9112, section 3.2.
Result<void, Fault> RequestParser::parse_target() {
  const std::string_view target = head_.target;
  if (target.size() > max_target_) return Fault{414, "the request target is too long"};
  if (target.empty() || !std::ranges::all_of(target, is_target_char))
    return Fault{400, "a malformed request target"};
  if (head_.method == Method::connect) return Fault{501, "CONNECT is not offered here"};
  head_.authority = {};
  head_.path = target;
  head_.query.reset();
  if (target == "*") {
    head_.form = TargetForm::asterisk;
    if (head_.method != Method::options) return Fault{400, "only OPTIONS asks for *"};
    return {};
  }
  if (target[0] == '/') {
    head_.form = TargetForm::origin;
  } else if (auto absolute = parse_absolute_target(); !absolute) {
    return absolute;
  }
  if (const auto at = head_.path.find('?'); at != std::string_view::npos) {
    head_.query = head_.path.substr(at + 1);
    head_.path = head_.path.substr(0, at);
  }
  if (head_.path.empty()) head_.path = "/";
  return {};
}

// Leaves path and query in head_.path.
Result<void, Fault> RequestParser::parse_absolute_target() {
  head_.form = TargetForm::absolute;
  const auto scheme = head_.target.substr(0, head_.target.find("://"));
  if (!iequals(scheme, "http") && !iequals(scheme, "https")) {
    return Fault{400, "a request target is a path or an http URL"};
  }
  head_.path = head_.target.substr(scheme.size() + 3);
  head_.authority = head_.path.substr(0, head_.path.find_first_of("/?"));
  head_.path.remove_prefix(head_.authority.size());
  if (head_.authority.empty() || !is_host(head_.authority))
    return Fault{400, "a malformed host in the request target"};
  return {};
}

// RFC 9112, section 3.2: exactly one Host in HTTP/1.1, though an absolute target overrides its value.
Result<void, Fault> RequestParser::check_host(const FieldFacts& facts) {
  if (facts.hosts > 1) return Fault{400, "more than one Host"};
  if (facts.hosts == 0 && head_.minor_version >= 1) return Fault{400, "no Host"};
  if (!is_host(facts.host)) return Fault{400, "a malformed Host"};
  if (head_.form != TargetForm::absolute) head_.authority = facts.host;
  return {};
}

// RFC 9112, section 6.3, for requests.
Result<void, Fault> RequestParser::frame(const FieldFacts& facts) {
  if (facts.length_malformed) return Fault{400, "a malformed Content-Length"};
  if (facts.length_repeated) return Fault{400, "more than one Content-Length"};
  head_.content_length = facts.content_length;
  head_.framing = facts.content_length ? Framing::length : Framing::none;
  if (facts.transfer_encoding) {
    if (facts.content_length) return Fault{400, "both Content-Length and Transfer-Encoding"};
    if (head_.minor_version == 0) return Fault{400, "a Transfer-Encoding in HTTP/1.0"};
    if (facts.coding_malformed || !facts.chunked_last)
      return Fault{400, "a Transfer-Encoding that does not end in chunked"};
    if (facts.other_coding) return Fault{501, "a transfer coding besides chunked"};
    head_.framing = Framing::chunked;
  }
  head_.keep_alive = !facts.close && (head_.minor_version >= 1 || facts.keep_alive);
  head_.expect_continue = false;
  if (!facts.expect.empty() && head_.minor_version >= 1) {
    if (!iequals(facts.expect, "100-continue")) return Fault{417, "an expectation besides 100-continue"};
    head_.expect_continue = head_.framing == Framing::chunked || head_.content_length.value_or(0) > 0;
  }
  body_.start(head_.framing, head_.content_length.value_or(0));
  head_done_ = true;
  return {};
}

}  // namespace plimsoll::http
