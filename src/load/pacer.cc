#include "load/pacer.h"

namespace plimsoll::load {

Pacer::Pacer(double rate, Arrivals arrivals, int thread, int threads, std::uint64_t seed)
    : gap_s_(threads / rate),
      arrivals_(arrivals),
      random_(seed ^ (0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(thread + 1))),
      first_s_(thread / rate) {}

Nanos Pacer::next() {
  if (arrivals_ == Arrivals::poisson) {
    poisson_s_ += random_.exponential() * gap_s_;
    return from_seconds(poisson_s_);
  }
  // By multiplication, not by adding up: an hour at 1e6/s must not drift.
  return from_seconds(first_s_ + static_cast<double>(index_++) * gap_s_);
}

}  // namespace plimsoll::load
