// How much processor a thread used, and how long it had to wait for one although it could have run.
//
// On a shared machine the second figure, not the first, tells whether the generator was the limit: a thread that gets
// half a core is at 50% and yet has no time left.
#pragma once

#include "base/clock.h"
#include "stats/record.h"

namespace plimsoll::stats {

struct ThreadUsage {
  Nanos cpu{};        // user and system time
  Nanos run_delay{};  // runnable, but without a core (schedstat); 0 where the kernel does not count it

  // Of the calling thread since its start. Reads a file: at the ends of a phase, not inside it.
  static ThreadUsage now();

  friend ThreadUsage operator-(const ThreadUsage& a, const ThreadUsage& b) {
    return {a.cpu - b.cpu, a.run_delay - b.run_delay};
  }
};

// Takes a thread's usage over a phase of length `wall` into the checks: client_cpu and run_delay_share are those of
// the thread that had the most, and the client was the limit where a thread ran or waited for a core for nine tenths
// of the time. A phase under 50 ms is too short to judge and changes nothing.
void add_usage(Checks& checks, const ThreadUsage& used, Nanos wall);

}  // namespace plimsoll::stats
