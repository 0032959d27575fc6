// WWW-Authenticate: what a registry asks for with its 401 (RFC 9110, section 11.6.1; RFC 6750; the distribution
// project's token specification).
//
// Read leniently, since registries quote, join and spell as they please; an unreadable challenge is dropped, the
// others stay.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::oci {

struct Challenge {
  std::string scheme;   // lower case: "basic", "bearer", "negotiate"
  std::string token68;  // of schemes that carry one in place of parameters
  std::vector<std::pair<std::string, std::string>> parameters;  // names in lower case, values unquoted

  // The parameter's value; empty if there is none.
  std::string_view parameter(std::string_view name) const;
};

// All challenges of all WWW-Authenticate lines, in order. Commas separate challenges as well as parameters; inside
// quotes they do neither. Parameters need no quotes, and an unquoted scope may hold commas ("pull,push").
std::vector<Challenge> parse_challenges(std::span<const std::string_view> header_values);

// Which one to answer: Bearer if it has a realm, else Basic, else none (nullptr).
const Challenge* choose_challenge(std::span<const Challenge> challenges);

}  // namespace plimsoll::oci
