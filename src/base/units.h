// Durations, sizes and rates as people type and read them.
//
// Outside the registry suite's own test names (whose 1MB is zb's 2^20), MB is 10^6 and MiB is 2^20, in input
// and in output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace plimsoll {

// "10s", "500ms", "2m", "1h30m", "250us", "1.5s"; a bare number is seconds. The refusal names the accepted form.
Checked<Nanos> parse_duration(std::string_view text);

// "512", "64kB", "1.5MB", "8MiB", "1GiB", "187.8MB", "0B"; k and K are 10^3, Ki is 2^10.
Checked<std::uint64_t> parse_size(std::string_view text);

// Go's time.Duration.String(), which zb prints: "45.397205ms", "1m2.5s", "402.259\u00b5s", "0s".
std::string go_duration(Nanos duration);

// Go's %v of a float32, which zb prints for rates: the shortest digits that round-trip binary32, plain for
// decimal exponents from -4 to 5, else scientific ("2202.7788", "1e+06", "9.999e-05", "+Inf").
std::string go_float32(float value);

// Three significant digits and one unit: "1.25 MB", "312 MiB" is written by binary_size.
std::string human_size(double bytes);
std::string binary_size(double bytes);
// "3.02 ms", "1.20 s", "850 us".
std::string human_duration(double seconds);

}  // namespace plimsoll
