#include "base/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, kErrorKinds> kErrorNames = {"resolve",
                                                                   "connect_refused",
                                                                   "connect_timeout",
                                                                   "out_of_ports",
                                                                   "out_of_descriptors",
                                                                   "tls",
                                                                   "reset",
                                                                   "closed",
                                                                   "timeout",
                                                                   "deadline",
                                                                   "protocol",
                                                                   "short_body",
                                                                   "digest_mismatch",
                                                                   "unexpected_status",
                                                                   "unauthorized",
                                                                   "throttled",
                                                                   "upload_lost",
                                                                   "redirect_loop",
                                                                   "token",
                                                                   "cancelled"};

constexpr std::array<std::string_view, kNoteKinds> kNoteNames = {
    "nonstandard_status",     "range_mismatch", "head_unsupported", "mount_missed", "digest_header_missing",
    "content_coding_ignored", "resumed",        "retried",          "reauthorized"};

static_assert(static_cast<std::size_t>(ErrorKind::cancelled) + 1 == kErrorKinds);
static_assert(static_cast<std::size_t>(NoteKind::reauthorized) + 1 == kNoteKinds);

bool code_is_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unexpected_status:
    case ErrorKind::unauthorized:
    case ErrorKind::throttled:
    case ErrorKind::upload_lost:
    case ErrorKind::token:
    case ErrorKind::redirect_loop:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view name(ErrorKind kind) {
  return kErrorNames[static_cast<std::size_t>(kind)];
}
std::string_view name(NoteKind kind) {
  return kNoteNames[static_cast<std::size_t>(kind)];
}

std::string describe(const Error& error) {
  std::string out(name(error.kind));
  if (error.text[0] != '\0') out += fmt::format(": {}", error.text);
  if (error.code != 0) {
    out += code_is_status(error.kind) ? fmt::format(" (status {})", error.code)
                                      : fmt::format(" ({})", std::strerror(error.code));
  }
  return out;
}

Error socket_error(int errno_value) {
  switch (errno_value) {
    case ECONNREFUSED:
      return {ErrorKind::connect_refused, errno_value, ""};
    case ETIMEDOUT:
      return {ErrorKind::connect_timeout, errno_value, ""};
    case EADDRNOTAVAIL:
      return {ErrorKind::out_of_ports, errno_value, ""};
    case EMFILE:
    case ENFILE:
      return {ErrorKind::out_of_descriptors, errno_value, ""};
    case ENETUNREACH:
    case EHOSTUNREACH:
      return {ErrorKind::connect_refused, errno_value, "no route"};
    case ECANCELED:
      return {ErrorKind::cancelled, errno_value, ""};
    default:
      return {ErrorKind::reset, errno_value, ""};
  }
}

}  // namespace plimsoll
