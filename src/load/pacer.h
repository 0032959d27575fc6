// When operations are due in open loop: pure arithmetic, no clock.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"
#include "load/plan.h"

namespace plimsoll::load {

// The schedule of one thread: its share of the rate. Offsets are from the start of the phase, ascending.
//
// `even` spaces operations by 1/rate over all threads: thread i of t takes every t-th, beginning with the i-th, so
// that the threads together are as even as one. `poisson` draws exponential gaps at rate/t: the sum of independent
// Poisson processes is one.
class Pacer {
 public:
  Pacer(double rate, Arrivals arrivals, int thread, int threads, std::uint64_t seed);

  // The offset of the next operation; each call moves on by one.
  Nanos next();

 private:
  double gap_s_;  // between this thread's operations, on average
  Arrivals arrivals_;
  Random random_;
  std::uint64_t index_ = 0;
  double first_s_;
  double poisson_s_ = 0;
};

}  // namespace plimsoll::load
