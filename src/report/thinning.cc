#include "report/thinning.h"

#include <algorithm>

#include "stats/percentile.h"

namespace plimsoll::report {

Points thinned(Points points, std::size_t most) {
  if (points.size() <= most) return points;
  const std::size_t stretches = std::max<std::size_t>(most / 2, 1);
  Points out;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(points.size() * i / stretches);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(points.size() * (i + 1) / stretches);
    const auto [low, high] =
        std::minmax_element(first, last, [](const auto& a, const auto& b) { return a.second < b.second; });
    out.push_back(*std::min(low, high));
    if (low != high) out.push_back(*std::max(low, high));
  }
  return out;
}

Points percentile_curve(std::span<const double> sorted) {
  Points out;
  if (sorted.empty()) return out;
  const auto n = static_cast<double>(sorted.size());
  double beyond = 1;
  while (beyond < n) {
    out.emplace_back(beyond, sorted[stats::nearest_rank(sorted.size(), 1 - 1 / beyond)]);
    beyond *= 1.1;
  }
  out.emplace_back(n, sorted.back());
  return out;
}

}  // namespace plimsoll::report
