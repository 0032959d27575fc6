// http::ResponseParser against itself, the same bytes cut in two ways, and against Boost.Beast's parser.
//
// An input is "H" for the answer to a HEAD (any other letter: to a GET), a byte that says how large the pieces are,
// and the bytes of the wire, after which the peer closes. A finding is where both parsers accept and frame differently,
// or where we accept what Beast refuses outside the list in may_refuse().
#include <cstdint>
#include <string>

#include "base/text.h"
#include "http/response_parser.h"
#include "tests/fuzz/beast.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

using http::Method;

struct Answer {
  std::string error;
  int status = 0;
  std::string fields;
  std::string body;
  bool keep_alive = false;
  std::size_t consumed = 0;

  friend bool operator==(const Answer&, const Answer&) = default;
};

void note_head(const http::ResponseHead& head, Answer& answer) {
  answer.status = head.status;
  answer.keep_alive = head.keep_alive;
  answer.fields.assign(head.reason).append("\n");
  for (const auto& [name, value] : head.headers)
    answer.fields.append(name).append(":").append(value).append("\n");
}

Answer ours(std::string_view wire, Method method, std::size_t piece_size) {
  http::ResponseParser parser;
  parser.start(method);
  Answer answer;
  for (std::size_t at = 0; at < wire.size() && !parser.done();) {
    const auto piece = wire.substr(at, piece_size);
    const auto step = parser.feed(piece);
    if (!step) return {.error = step.error().text, .fields = {}, .body = {}};
    expect(step->consumed <= piece.size(), "no more is consumed than was fed");
    expect(step->consumed > 0, "every step takes something");
    expect(step->body.empty() || (step->body.data() >= piece.data() &&
                                  step->body.data() + step->body.size() <= piece.data() + step->consumed),
           "the body lies within what was consumed");
    if (step->head) note_head(parser.head(), answer);
    answer.body += step->body;
    at += step->consumed;
    answer.consumed = at;
    expect(parser.wire_bytes() == at, "every byte is counted");
    expect(parser.body_bytes() == answer.body.size(), "every byte of the body is counted");
  }
  if (const auto finished = parser.finish(); !finished)
    return {.error = finished.error().text, .fields = {}, .body = {}};
  return answer;
}

// The written list: what Beast refuses and we accept, each by RFC 9112 or for the sake of old servers.
bool may_refuse(const BeastMessage<false>& message, std::string_view wire, Method method,
                const Answer& answer) {
  using boost::beast::http::error;
  const std::string text = to_lower(wire);
  // A later minor version is spoken to as 1.1 (RFC 9110, section 2.5).
  if (message.error == error::bad_version) return wire.size() > 7 && wire[7] >= '2' && wire[7] <= '9';
  // The reason phrase and the space before it may both be missing.
  if (message.error == error::bad_status) return wire.size() > 12 && wire[12] == '\r';
  // Chunk extensions are skipped without a look at their grammar, and white space after a chunk size is tolerated.
  // (Beast looks for the end of a quote there, over any number of lines.)
  if (message.error == error::bad_chunk_extension) return message.chunked;
  if (message.error == error::partial_message) return message.chunked && text.contains('"');
  // A Connection that is no list: the options that can be told in it count.
  if (message.error == error::bad_value) return text.contains("connection:");
  // The framing of 1xx answers and trailer fields is ignored; empty members of a list are skipped.
  const bool interim = message.status / 100 == 1;
  if (message.error == error::bad_content_length) return interim || message.chunked || text.contains(',');
  // So is Transfer-Encoding where there can be no body. A coding after chunked makes the body end at the close.
  if (message.error == error::bad_transfer_encoding) {
    const bool bodiless = method == Method::head || answer.status == 204 || answer.status == 304;
    return interim || message.chunked || bodiless || !answer.keep_alive;
  }
  return false;
}

// Beast counts Proxy-Connection as if it were Connection, and in HTTP/1.0 keep-alive above close.
bool may_differ_in_keep_alive(std::string_view wire) {
  const std::string text = to_lower(wire);
  return text.contains("proxy-connection") || text.contains("http/1.0");
}

void compare(std::string_view wire, Method method, const Answer& answer) {
  std::size_t begin = 0;
  BeastMessage<false> message;
  do {
    if (begin == wire.size()) break;
    message = beast_parse<false>(wire.substr(begin), method == Method::head, true);
    if (message.refused()) {
      expect(may_refuse(message, wire.substr(begin), method, answer),
             fmt::format("Beast accepts what we accept, but says {}", message.error.message()));
      return;
    }
    begin += message.consumed;
  } while (message.done && message.status / 100 == 1);
  expect(message.done, "Beast ends the message that we end");
  expect(message.status == static_cast<unsigned>(answer.status), "the same status");
  expect(message.body == answer.body,
         fmt::format("the same body: ours {}, Beast's {}", answer.body, message.body));
  expect(begin == answer.consumed, fmt::format("the same end: ours {}, Beast's {}", answer.consumed, begin));
  if (!may_differ_in_keep_alive(wire)) expect(message.keep_alive == answer.keep_alive, "the same keep-alive");
}

void run(std::string_view input) {
  if (input.size() < 3) return;
  const Method method = input[0] == 'H' ? Method::head : Method::get;
  const std::size_t piece_size = 1 + static_cast<unsigned char>(input[1]) % 32;
  const auto wire = input.substr(2);
  const Answer whole = ours(wire, method, wire.size());
  const Answer cut = ours(wire, method, piece_size);
  expect(cut == whole,
         fmt::format("pieces of {} change nothing: '{}' or '{}'", piece_size, whole.error, cut.error));
  if (whole.error.empty()) compare(wire, method, whole);
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
