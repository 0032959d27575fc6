// Retry-After: how long a registry that throttles wants to be left alone (RFC 9110, section 10.2.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace plimsoll::oci {

// Longer waits than this are cut to it: a field of a thousand years ends no run.
inline constexpr Nanos kLongestWait = std::chrono::minutes(10);

// An HTTP date in any of its three forms, in seconds since 1970 (RFC 9110, section 5.6.7).
std::optional<std::int64_t> parse_http_date(std::string_view text);

// Seconds, or a date. `date` is the answer's own Date field, so that a server's clock that is off does not matter;
// without one, `unix_now` is what the date is counted from. A date in the past is no wait.
std::optional<Nanos> parse_retry_after(std::string_view text, std::string_view date, std::int64_t unix_now);

}  // namespace plimsoll::oci
