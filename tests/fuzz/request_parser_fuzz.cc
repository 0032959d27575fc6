// http::RequestParser against itself, the same bytes cut in two ways, and against Boost.Beast's parser.
//
// An input is a byte that says how large the pieces are, and the bytes of a connection with any number of requests.
// A finding is where both parsers accept a request and frame it differently, or where we accept what Beast refuses outside
// the list in may_refuse().
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "http/request_parser.h"
#include "tests/fuzz/beast.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

struct Request {
  std::string head;
  std::string body;
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const Request&, const Request&) = default;
};

// What a server saw: whole requests, and then a fault (-1: none, more may come).
struct Connection {
  std::vector<Request> requests;
  int fault = -1;
  std::string text;
  bool http2 = false;

  friend bool operator==(const Connection&, const Connection&) = default;
};

std::string describe_head(const http::RequestHead& head) {
  std::string out;
  out.append(head.method_text).append(" ").append(head.path).append(head.query ? " ?" : " ");
  out.append(head.query.value_or(""))
      .append(" ")
      .append(head.authority)
      .append(head.keep_alive ? " keep" : "");
  out.append(head.expect_continue ? " expects\n" : "\n");
  for (const auto& [name, value] : head.headers) out.append(name).append(":").append(value).append("\n");
  return out;
}

bool lies_within(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// One request from `at` on; false: there is none, or it doesn't end.
bool next_request(http::RequestParser& parser, std::string_view wire, std::size_t piece_size, std::size_t& at,
                  Connection& connection) {
  Request request{.head = {}, .body = {}, .begin = at};
  parser.start();
  while (!parser.done() && at < wire.size()) {
    const auto piece = wire.substr(at, piece_size);
    const auto step = parser.feed(piece);
    if (!step) {
      connection.fault = step.error().status;
      connection.text = step.error().text;
      return false;
    }
    connection.http2 = parser.http2();
    expect(step->consumed > 0 && step->consumed <= piece.size(),
           "every step takes something, and no more than it got");
    expect(lies_within(step->body, piece.substr(0, step->consumed)),
           "the body lies within what was consumed");
    if (step->head) request.head = describe_head(parser.head());
    request.body += step->body;
    at += step->consumed;
    expect(parser.wire_bytes() == at - request.begin, "every byte is counted");
  }
  if (!parser.done()) return false;
  request.end = at;
  connection.requests.push_back(request);
  return true;
}

Connection ours(std::string_view wire, std::size_t piece_size) {
  http::RequestParser parser;
  Connection connection;
  std::size_t at = 0;
  while (at < wire.size() && next_request(parser, wire, piece_size, at, connection)) continue;
  return connection;
}

// The written list: what Beast refuses and we accept.
bool may_refuse(const BeastMessage<true>& message, std::string_view wire) {
  using boost::beast::http::error;
  const std::string text = to_lower(wire);
  // A later minor version is spoken to as 1.1 (RFC 9110, section 2.5).
  if (message.error == error::bad_version) return text.contains(" http/1.");
  // Chunk extensions are skipped without a look at their grammar, and white space after a chunk size is tolerated.
  if (message.error == error::bad_chunk_extension) return message.chunked;
  // A Connection that is no list: the options that can be told in it count.
  if (message.error == error::bad_value) return text.contains("connection:");
  // Framing fields among the trailers are ignored.
  if (message.error == error::bad_content_length) return message.chunked;
  if (message.error == error::bad_transfer_encoding) return message.chunked;
  return false;
}

void compare(std::string_view wire, const Request& request) {
  auto begin = request.begin;
  // Beast doesn't know of empty lines before a request.
  while (wire.substr(begin).starts_with("\r\n")) begin += 2;
  const auto message = beast_parse<true>(wire.substr(begin), false, false);
  if (message.refused()) {
    expect(may_refuse(message, wire.substr(begin)),
           fmt::format("Beast accepts what we accept, but says {}", message.error.message()));
    return;
  }
  // A chunk extension with a quote that does not end: Beast looks for its end over any number of lines.
  if (!message.done && message.chunked && wire.contains('"')) return;
  expect(message.done, "Beast ends the request that we end");
  expect(message.body == request.body,
         fmt::format("the same body: ours {}, Beast's {}", request.body, message.body));
  expect(begin + message.consumed == request.end,
         fmt::format("the same end: ours {}, Beast's {}", request.end, begin + message.consumed));
}

void run(std::string_view input) {
  if (input.size() < 2) return;
  const std::size_t piece_size = 1 + static_cast<unsigned char>(input[0]) % 32;
  const auto wire = input.substr(1);
  const Connection whole = ours(wire, wire.size());
  const Connection cut = ours(wire, piece_size);
  expect(cut == whole,
         fmt::format("pieces of {} change nothing: '{}' or '{}'", piece_size, whole.text, cut.text));
  for (const Request& request : whole.requests) compare(wire, request);
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
