// What a registry says went wrong (distribution-spec, "Error Codes"): {"errors":[{"code":..,"message":..}]}.
//
// For people and samples only: what is done about an answer is decided by its status, since registries answer with
// codes of their own, with other JSON, and with HTML.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::oci {

// How much of an error's body is worth receiving.
inline constexpr std::size_t kMaxErrorBody = 64 * 1024;

struct SpecError {
  std::string code;       // "MANIFEST_UNKNOWN"; empty where none was given
  std::string message;    // one line, printable, at most 256 bytes
  bool standard = false;  // the body had the specified form

  // "MANIFEST_UNKNOWN: manifest unknown"; empty if nothing was said.
  std::string text() const;
};

// Reads whatever it is: the specified form (the first error of the list), other JSON with a message somewhere,
// HTML (its title), or text.
SpecError parse_spec_error(std::string_view body);

}  // namespace plimsoll::oci
