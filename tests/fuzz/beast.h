// Boost.Beast's HTTP/1 parser as the second opinion of the differential fuzz targets.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace plimsoll::fuzz {

// What Beast makes of one message at the beginning of `wire`, which is all that ever comes.
template <bool IsRequest>
struct BeastMessage {
  boost::beast::error_code error;
  bool done = false;
  bool head_done = false;
  unsigned status = 0;
  bool chunked = false;
  bool keep_alive = false;
  std::string body;
  std::size_t consumed = 0;

  bool refused() const { return error && error != boost::beast::http::error::need_more; }
};

template <bool IsRequest>
BeastMessage<IsRequest> beast_parse(std::string_view wire, bool head_request, bool at_end) {
  namespace http = boost::beast::http;
  http::parser<IsRequest, http::string_body> parser;
  parser.eager(true);
  parser.skip(head_request);
  parser.header_limit(64 * 1024);
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  BeastMessage<IsRequest> message;
  while (!parser.is_done() && !message.error && message.consumed < wire.size()) {
    const auto rest = wire.substr(message.consumed);
    message.consumed += parser.put(boost::asio::buffer(rest.data(), rest.size()), message.error);
  }
  if (!message.refused() && at_end && !parser.is_done() && parser.got_some()) {
    message.error = {};
    parser.put_eof(message.error);
  }
  message.done = parser.is_done();
  message.head_done = parser.is_header_done();
  if constexpr (!IsRequest) message.status = parser.get().result_int();
  if (message.head_done) {
    message.chunked = parser.chunked();
    message.keep_alive = parser.keep_alive();
  }
  message.body = parser.get().body();
  return message;
}

}  // namespace plimsoll::fuzz
