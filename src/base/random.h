// Seeded pseudo-random numbers (xoshiro256**, Blackman and Vigna): the same seed gives the same run on every
// machine, which the standard library's distributions do not promise.
#pragma once

#include <cmath>
#include <cstdint>

namespace plimsoll {

__extension__ typedef unsigned __int128 Wide;

// Spreads a seed; also good for deriving independent seeds from one.
inline std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (auto& word : state_) word = splitmix64(seed);
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, n); n > 0. The bias of the multiply is below n / 2^64.
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * n) >> 64);
  }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Exponential with mean 1: the gaps of a Poisson process.
  double exponential() { return -std::log1p(-uniform()); }

 private:
  static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t state_[4];
};

// A seed from the system, for runs that name none; it is printed so that the run can be repeated.
std::uint64_t system_seed();

}  // namespace plimsoll
