// Small text operations that several rooms share: ASCII case, splitting, hex, base64, percent-encoding.
// Locale-free on purpose: everything here is protocol text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

char to_lower(char c);
std::string to_lower(std::string_view text);
bool iequals(std::string_view a, std::string_view b);
bool istarts_with(std::string_view text, std::string_view prefix);

// Without leading and trailing spaces and tabs (OWS of RFC 9110, section 5.6.3).
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

// Decimal digits only, no sign, no space, no overflow; nullopt otherwise.
std::optional<std::uint64_t> parse_u64(std::string_view text);
// A finite decimal number ("0.5", "1e3"); nullopt otherwise.
std::optional<double> parse_double(std::string_view text);

std::string to_hex(std::span<const std::uint8_t> bytes);
std::string base64_encode(std::string_view bytes);
// Standard alphabet, padding required where the length needs it; nullopt on anything else.
std::optional<std::string> base64_decode(std::string_view text);

// Everything but unreserved characters (RFC 3986, section 2.3) as %XX.
std::string percent_encode(std::string_view text);
// nullopt on a broken escape.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace plimsoll
