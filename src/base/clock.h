// Time as the engine uses it: nanoseconds of the monotonic clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace plimsoll {

using Nanos = std::chrono::nanoseconds;

// A point on CLOCK_MONOTONIC. Comparable within one machine and boot only.
using Instant = std::chrono::time_point<std::chrono::steady_clock, Nanos>;

inline Instant now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant(Nanos(t.tv_sec * 1'000'000'000LL + t.tv_nsec));
}

inline double seconds(Nanos d) {
  return static_cast<double>(d.count()) * 1e-9;
}
inline Nanos from_seconds(double s) {
  return Nanos(static_cast<std::int64_t>(s * 1e9));
}

// "Never": far enough for any run, near enough that adding to it does not overflow.
inline constexpr Instant kNever = Instant(Nanos(INT64_MAX / 4));

}  // namespace plimsoll
