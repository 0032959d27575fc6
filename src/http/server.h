// What a server does with a request: the interface between connections, which speak HTTP, and handlers, which know
// what it means.
//
// A handler is a coroutine from a request head to an answer. It may read the body or not, wait, or be called for many
// requests at once; it is shared by all loops. It never sees sockets, framing or keep-alive: those are the
// connection's (server_connection.h), and the same handler serves a test without any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/message.h"
#include "http/payload.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/task.h"

namespace plimsoll::http {

// The body of a request, piece by piece.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // The next bytes, empty at the end; valid until the caller next awaits anything. The first call lets a client that
  // waits for "100 Continue" go on. Errors: closed, short_body, timeout, protocol; they end the connection too.
  virtual net::Task<Result<std::string_view>> read() = 0;
  // As announced; nullopt for a chunked body.
  virtual std::optional<std::uint64_t> length() const = 0;
};

// How an answer goes out. All but the default exists to test clients with.
struct Delivery {
  enum class Framing : std::uint8_t { length, chunked, until_close };
  Framing framing = Framing::length;
  bool http10 = false;                      // says HTTP/1.0 in the status line
  bool no_length = false;                   // leaves Content-Length out of an answer to HEAD
  std::size_t chunk = 16 * 1024;            // bytes a chunk
  std::string trailers;                     // field lines after the last chunk, each with its CRLF
  std::optional<std::uint64_t> stop_after;  // bytes of the body that are sent; then the connection ends
  bool reset = false;                       // ends it by RST (at once, where nothing is sent)
  std::uint64_t bytes_per_second = 0;       // 0: as fast as it goes
};

// The answer as the handler makes it. One object a connection, used again for every request.
class ServerAnswer {
 public:
  int status = 200;
  Payload body;
  bool close = false;  // the connection ends after this answer
  std::unique_ptr<Delivery> delivery;

  // Adds a field. A value that would break the line (from outside, say) is left out with its field.
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, std::uint64_t value);
  // Takes all fields of that name out again.
  void remove(std::string_view name);
  // The field lines so far, each with its CRLF.
  const std::string& fields() const { return fields_; }
  std::optional<std::string_view> find(std::string_view name) const;
  void clear();

 private:
  std::string fields_;
};

// One request with everything around it, while it is answered.
struct Call {
  const RequestHead& request;
  BodyReader& body;
  ServerAnswer& answer;
  net::Loop& loop;
  const net::Address& peer;
  const bool& draining;  // the server is about to end: whoever only waits gives up
  bool secure = false;
  std::uint64_t connection = 0;     // a number that no other connection of the server has
  std::uint64_t request_index = 0;  // on its connection, from 0
  std::string user = {};            // who it is, once access control knows
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Fills call.answer. Everything that `call` refers to stays in place until the task has ended.
  virtual net::Task<void> handle(Call& call) = 0;
};

// What was answered, after it was sent or not.
struct Served {
  const Call& call;
  std::uint64_t body_received = 0;
  std::uint64_t body_sent = 0;
  Nanos duration{};  // from the complete head to the last byte handed to the kernel
  bool complete = true;
};

// Is told of every answer, on the loop's thread: for logs and counters.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void served(const Served& served) = 0;
  virtual void connected() {}
  virtual void disconnected() {}
  // Bytes that were no request and were answered with this status (0: not at all).
  virtual void malformed(int /*status*/) {}
};

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7).
std::string http_date(std::int64_t unix_seconds);
// All three forms that a recipient must read; nullopt for anything else.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace plimsoll::http
