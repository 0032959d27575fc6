#include "report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll::report {
namespace {

constexpr std::size_t kExactLimit = 20;

struct Ranked {
  double rank_sum_b = 0;  // mid-ranks from 1
  double tie_term = 0;    // sum of t^3 - t
};

Ranked rank(std::span<const double> a, std::span<const double> b) {
  std::vector<std::pair<double, bool>> all;
  all.reserve(a.size() + b.size());
  for (const double value : a) all.emplace_back(value, false);
  for (const double value : b) all.emplace_back(value, true);
  std::ranges::sort(all);
  Ranked out;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    while (last < all.size() && all[last].first == all[first].first) ++last;
    const double mid_rank = static_cast<double>(first + 1 + last) / 2;
    const auto ties = static_cast<double>(last - first);
    out.tie_term += ties * ties * ties - ties;
    for (; first < last; ++first) out.rank_sum_b += all[first].second ? mid_rank : 0;
  }
  return out;
}

// Number of ways to choose n of n + m ranks with each value of U, by the classic recurrence.
std::vector<double> rank_ways(std::size_t m, std::size_t n) {
  // ways[j][u]: choosing j so far; adding one item at a time.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(m * n + 1, 0));
  ways[0][0] = 1;
  for (std::size_t item = 1; item <= m + n; ++item) {
    for (std::size_t j = std::min(item, n); j >= 1; --j) {
      // The item-th rank chosen as j-th of b stands above item - j values of a.
      const std::size_t above = item - j;
      if (above > m) continue;
      for (std::size_t u = m * n; u + 1 > above; --u) {
        ways[j][u] += ways[j - 1][u - above];
        if (u == 0) break;
      }
    }
  }
  return ways[n];
}

RankTest exact_test(std::size_t m, std::size_t n, double u) {
  const std::vector<double> ways = rank_ways(m, n);
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  double upper = 0;
  double lower = 0;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (static_cast<double>(i) >= u) upper += ways[i];
    if (static_cast<double>(i) <= u) lower += ways[i];
  }
  return {upper / all, std::min(1.0, 2 * std::min(upper, lower) / all)};
}

// Of the mean of so many values, from their own scatter.
double variance_of_mean(std::span<const double> values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  const auto n = static_cast<double>(values.size());
  return sum / (n - 1) / n;
}

// The continued fraction of the incomplete beta function (Lentz's method).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto safe = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / safe(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / safe(1 + even * d);
    c = safe(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / safe(1 + odd * d);
    c = safe(1 + odd / c);
    fraction *= d * c;
    if (std::fabs(d * c - 1) < 1e-14) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// P(|T| > t) of Student's distribution.
double student_two_sided(double t, double degrees) {
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  const double position = p * static_cast<double>(values.size() - 1);
  const auto at = static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  const double low = values[static_cast<std::size_t>(at)];
  const double fraction = position - static_cast<double>(at);
  if (fraction <= 0) return low;
  return low + fraction * (*std::min_element(values.begin() + at + 1, values.end()) - low);
}

Robust robust(const std::vector<double>& values) {
  Robust out;
  out.centre = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::fabs(value - out.centre));
  out.spread = 1.4826 * median(std::move(distances));
  return out;
}

double normal_tail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

RankTest rank_test(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return {};
  const auto m = static_cast<double>(a.size());
  const auto n = static_cast<double>(b.size());
  const Ranked ranked = rank(a, b);
  const double u = ranked.rank_sum_b - n * (n + 1) / 2;  // pairs in which b is higher
  if (a.size() <= kExactLimit && b.size() <= kExactLimit && ranked.tie_term == 0) {
    return exact_test(a.size(), b.size(), u);
  }
  const double all = m + n;
  const double variance = m * n / 12 * (all + 1 - ranked.tie_term / (all * (all - 1)));
  if (variance <= 0) return {};
  const double distance = u - m * n / 2;
  const double deviation = std::sqrt(variance);
  return {normal_tail((distance - 0.5) / deviation),
          std::min(1.0, 2 * normal_tail((std::fabs(distance) - 0.5) / deviation))};
}

Trend trend(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 4) return {};
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  double s = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double step = values[j] - values[i];
      s += step > 0 ? 1 : step < 0 ? -1 : 0;
      slopes.push_back(step / static_cast<double>(j - i));
    }
  }
  const auto count = static_cast<double>(n);
  const double deviation = std::sqrt(count * (count - 1) * (2 * count + 5) / 18);
  Trend out;
  out.p_value = std::min(1.0, 2 * normal_tail((std::fabs(s) - 1) / deviation));
  out.slope = median(slopes);
  const double half = 1.96 * deviation / static_cast<double>(slopes.size()) / 2;
  out.low = quantile(slopes, std::max(0.0, 0.5 - half));
  out.high = quantile(slopes, std::min(1.0, 0.5 + half));
  return out;
}

Interval bootstrap(std::span<const double> values,
                   const std::function<double(std::span<const double>)>& statistic, Random& random,
                   int rounds) {
  if (values.empty()) return {};
  std::vector<double> drawn(values.size());
  std::vector<double> results;
  results.reserve(static_cast<std::size_t>(rounds));
  for (int round = 0; round < rounds; ++round) {
    for (double& value : drawn) value = values[random.below(values.size())];
    results.push_back(statistic(drawn));
  }
  return {quantile(results, 0.025), quantile(results, 0.975)};
}

namespace {

template <class Summary>
std::vector<double> by_block(std::span<const double> values, std::size_t blocks, Summary summary) {
  blocks = std::min(blocks, values.size());
  std::vector<double> out;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t first = values.size() * i / blocks;
    const std::size_t last = values.size() * (i + 1) / blocks;
    out.push_back(summary(values.subspan(first, last - first)));
  }
  return out;
}

}  // namespace

std::vector<double> block_means(std::span<const double> values, std::size_t blocks) {
  return by_block(values, blocks, [](std::span<const double> block) { return mean(block); });
}

std::vector<double> block_medians(std::span<const double> values, std::size_t blocks) {
  return by_block(values, blocks,
                  [](std::span<const double> block) { return median({block.begin(), block.end()}); });
}

WelchTest welch_test(std::span<const double> a, std::span<const double> b) {
  WelchTest out;
  out.difference = out.low = out.high = mean(b) - mean(a);
  if (a.size() < 2 || b.size() < 2) return out;
  const double of_a = variance_of_mean(a);
  const double of_b = variance_of_mean(b);
  const double sum = of_a + of_b;
  if (sum <= 0) {
    out.p_value = out.difference == 0 ? 1 : 0;
    return out;
  }
  const double degrees =
      sum * sum /
      (of_a * of_a / static_cast<double>(a.size() - 1) + of_b * of_b / static_cast<double>(b.size() - 1));
  const double error = std::sqrt(sum);
  out.p_value = student_two_sided(std::fabs(out.difference) / error, degrees);
  double inside = 0;
  double outside = 1e4;  // beyond what 0.05 leaves for one degree of freedom (12.7)
  for (int step = 0; step < 60; ++step) {
    const double middle = (inside + outside) / 2;
    (student_two_sided(middle, degrees) > 0.05 ? inside : outside) = middle;
  }
  out.low = out.difference - outside * error;
  out.high = out.difference + outside * error;
  return out;
}

std::vector<double> holm(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double highest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    highest = std::max(highest, std::min(1.0, p_values[order[k]] * static_cast<double>(order.size() - k)));
    adjusted[order[k]] = highest;
  }
  return adjusted;
}

}  // namespace plimsoll::report
