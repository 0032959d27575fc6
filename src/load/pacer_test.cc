#include "load/pacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace plimsoll::load {
namespace {

TEST(Pacer, SpacesEvenlyOverAllThreads) {
  std::vector<Nanos> due;
  for (int thread = 0; thread < 3; ++thread) {
    Pacer pacer(1000, Arrivals::even, thread, 3, 1);
    for (int i = 0; i < 4; ++i) due.push_back(pacer.next());
  }
  std::ranges::sort(due);
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(due[i].count()), static_cast<double>(i) * 1e6, 1) << i;
  }
}

TEST(Pacer, DoesNotDrift) {
  Pacer pacer(1e6, Arrivals::even, 0, 1, 1);
  Nanos last{};
  for (int i = 0; i <= 3'000'000; ++i) last = pacer.next();
  EXPECT_NEAR(seconds(last), 3.0, 1e-8);
}

TEST(Pacer, PoissonKeepsTheRateAndRepeatsBySeed) {
  constexpr std::uint64_t kSeed = 20261130;
  Pacer one(500, Arrivals::poisson, 0, 1, kSeed);
  Pacer two(500, Arrivals::poisson, 0, 1, kSeed);
  Nanos before{};
  Nanos last{};
  double squares = 0;
  constexpr int kCount = 50'000;
  for (int i = 0; i < kCount; ++i) {
    last = one.next();
    EXPECT_EQ(last, two.next());
    EXPECT_GE(last, before);
    const double gap = seconds(last - before);
    squares += gap * gap;
    before = last;
  }
  EXPECT_NEAR(seconds(last), kCount / 500.0, 3.0) << "seed " << kSeed;
  // Exponential gaps: the mean of the squares is twice the square of the mean.
  EXPECT_NEAR(squares / kCount * 500 * 500, 2.0, 0.1) << "seed " << kSeed;
}

}  // namespace
}  // namespace plimsoll::load
