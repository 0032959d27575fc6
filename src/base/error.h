// The closed set of things that can go wrong with a request, and the small value that carries one.
//
// A failed request is data: it is counted, timed and reported. The kinds below are at once the index of a
// counter, the key in the result record and the word on the console, so each is spelled once, here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

enum class ErrorKind : std::uint8_t {
  resolve,             // the host name has no address
  connect_refused,     // the peer said no to a connection
  connect_timeout,     // no answer to a connection attempt in time
  out_of_ports,        // EADDRNOTAVAIL: no local port is left
  out_of_descriptors,  // EMFILE, ENFILE
  tls,                 // handshake or verification failed
  reset,               // ECONNRESET, EPIPE
  closed,              // the peer closed in the middle of an exchange
  timeout,             // no progress within --timeout
  deadline,            // the operation exceeded --deadline
  protocol,            // the peer's bytes are not the protocol
  short_body,          // fewer bytes than announced
  digest_mismatch,     // the content is not what its digest says
  unexpected_status,   // an answer that the protocol does not foresee here
  unauthorized,        // 401 or 403 after all that could be tried
  throttled,           // 429
  upload_lost,         // 404 on an upload URL that the registry gave and had accepted
  redirect_loop,
  token,      // the token server refused or answered nonsense
  cancelled,  // the run ended first
};
inline constexpr std::size_t kErrorKinds = 20;

// What strayed from the standard and was survived: counted, reported, no failure.
enum class NoteKind : std::uint8_t {
  nonstandard_status,
  range_mismatch,
  head_unsupported,
  mount_missed,
  digest_header_missing,
  content_coding_ignored,
  resumed,
  retried,
  reauthorized,
};
inline constexpr std::size_t kNoteKinds = 9;

// The spelling in the record and on the console ("connect_refused").
std::string_view name(ErrorKind kind);
std::string_view name(NoteKind kind);

// An error of one request. Trivially copyable: failing allocates nothing.
struct Error {
  ErrorKind kind = ErrorKind::protocol;
  int code = 0;  // errno, or the HTTP status for unexpected_status and its like; 0 where neither applies
  const char* text = "";  // static text that says what was expected; never owned

  friend bool operator==(const Error& a, const Error& b) { return a.kind == b.kind && a.code == b.code; }
};

// "connect_refused: Connection refused (errno 111)", for logs and one-line messages.
std::string describe(const Error& error);

// Maps the errno of a failed socket call to its kind (ECONNREFUSED, EMFILE, ...; anything else is `reset`).
Error socket_error(int errno_value);

// Why a whole run cannot start or go on: one line for a person, ends in exit code 2.
struct Refusal {
  std::string message;
};

}  // namespace plimsoll
