// The statistics that findings and comparisons rest on. Pure functions of samples; randomness is seeded by the
// caller. None but Welch's test assumes a normal distribution.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"

namespace plimsoll::report {

double mean(std::span<const double> values);
double median(std::vector<double> values);              // of an unsorted copy; 0 where empty
double quantile(std::vector<double> values, double p);  // linear interpolation; 0 where empty

// Median and the scaled median absolute deviation (a standard deviation where the values are normal).
struct Robust {
  double centre = 0;
  double spread = 0;
};
Robust robust(const std::vector<double>& values);

// P(Z > z) of the standard normal distribution.
double normal_tail(double z);

// Wilcoxon's and Mann and Whitney's rank test. `greater` is the probability, under the hypothesis that both come
// from one distribution, of ranks of `b` at least as high as they are; `two_sided` that of ranks at least as far
// apart in either direction. Exact where both have at most 20 values and there are no ties; normal with correction
// for ties and continuity elsewhere. Both are 1 where a side is empty.
struct RankTest {
  double greater = 1;
  double two_sided = 1;
};
RankTest rank_test(std::span<const double> a, std::span<const double> b);

// Welch's test of two means, for the few values (two to five) of which ranks say nothing; the difference b - a with its
// 95% interval. p_value is 1 where a side has fewer than two values.
struct WelchTest {
  double p_value = 1;
  double difference = 0;
  double low = 0;
  double high = 0;
};
WelchTest welch_test(std::span<const double> a, std::span<const double> b);

// Kendall's tau of values against their order, as the probability of a trend that strong by chance (two-sided,
// normal approximation with ties), and Theil and Sen's slope: the median of all slopes between two values, with its
// 95% interval. For at most a few hundred values: the time is quadratic.
struct Trend {
  double p_value = 1;
  double slope = 0;  // a step
  double low = 0;
  double high = 0;
};
Trend trend(std::span<const double> values);

// The 2.5% and 97.5% quantiles of `statistic` over `rounds` resamplings of `values` with replacement.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval bootstrap(std::span<const double> values,
                   const std::function<double(std::span<const double>)>& statistic, Random& random,
                   int rounds = 1000);

// Means of `blocks` consecutive stretches of nearly equal length; fewer where there are fewer values.
std::vector<double> block_means(std::span<const double> values, std::size_t blocks);
std::vector<double> block_medians(std::span<const double> values, std::size_t blocks);

// Holm's correction: p-values adjusted for being several, in their own order.
std::vector<double> holm(const std::vector<double>& p_values);

}  // namespace plimsoll::report
