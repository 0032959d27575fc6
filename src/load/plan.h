// How much load, for how long: what a run is asked for, before it knows what it runs.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "net/backend.h"

namespace plimsoll::load {

enum class Arrivals : std::uint8_t { even, poisson };

struct Plan {
  int concurrency = 1;         // workers in closed loop; workers at the start in open loop
  std::uint64_t requests = 1;  // exactly that many operations; 0: no limit
  Nanos duration{};            // of the measure phase; 0: no limit. With both, whichever comes first
  Nanos warmup{};              // operations before the measure phase, forgotten
  Nanos ramp{};                // workers start spread over this time, before the warm-up's end
  std::optional<double> rate;  // operations a second over all workers: open loop
  Arrivals arrivals = Arrivals::even;
  int max_workers = 0;  // open loop: how many may be added for a backlog; 0: concurrency
  int threads = 1;
  int group = 1;  // so many workers with numbers in a row are on one thread: they share a connection
  std::uint64_t seed = 0;
  net::IoKind io = net::IoKind::automatic;
  bool keep_samples = false;                     // one row an operation, in a temporary file
  Nanos drain_limit = std::chrono::seconds(60);  // in-flight operations may take this long after the end
};

}  // namespace plimsoll::load
