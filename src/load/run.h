// Runs one test: a workload under a plan, through its phases, on all its threads.
//
//   set up -> warm up -> measure -> drain -> clean up, with a barrier of all workers between any two.
//
// Rates divide by the measure phase alone. In closed loop a worker's next operation is due when the worker is free;
// in open loop operations are due on the pacer's schedule whatever the backlog is. Exactly `requests` operations are
// started, whatever the number of workers.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/plan.h"
#include "load/samples.h"
#include "load/stop.h"
#include "load/workload.h"
#include "stats/histogram.h"
#include "stats/record.h"

namespace plimsoll::load {

// What live progress shows; summed over the threads, a few times a second, and once more when all is over.
struct Progress {
  std::string_view phase;  // "set up", "warm up", "measure", "drain", "clean up", "over"
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t in_progress = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, 6>
      statuses{};  // operations by class of their last status: [2] is 2xx; [0] no answer
  std::array<std::uint64_t, kErrorKinds> errors{};
  double elapsed_s = 0;          // of the phase
  double rate_per_s = 0;         // of the last second
  double bytes_per_s = 0;        // of the last second
  stats::Histogram last_second;  // latencies of good operations, nanoseconds
  stats::Histogram whole_run;
  std::uint64_t requests = 0;  // what was asked for; 0: no limit
  double duration_s = 0;
};

using Watch = std::function<void(const Progress&)>;

struct Measured {
  stats::TestRecord test;     // all that load and its recorders know
  std::string setup_failure;  // why the test could not be measured; its figures are empty then
  std::string io;             // "epoll", "uring"
  bool interrupted = false;
  std::vector<SampleFile> samples;  // one a thread, where the plan asked for them
};

// Blocks until the test is over. A refusal: no loop could be made.
Checked<Measured> run(const Plan& plan, Workload& workload, StopSignal& stop, const Watch& watch);

}  // namespace plimsoll::load
