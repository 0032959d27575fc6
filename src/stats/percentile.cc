#include "stats/percentile.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll::stats {
namespace {

constexpr double kNano = 1e-9;

constexpr std::array<NamedPercentile, 10> kPercentiles = {{
    {"p50", 5000, &LatencySummary::p50},
    {"p66", 6600, &LatencySummary::p66},
    {"p75", 7500, &LatencySummary::p75},
    {"p80", 8000, &LatencySummary::p80},
    {"p90", 9000, &LatencySummary::p90},
    {"p95", 9500, &LatencySummary::p95},
    {"p98", 9800, &LatencySummary::p98},
    {"p99", 9900, &LatencySummary::p99},
    {"p99.9", 9990, &LatencySummary::p999},
    {"p99.99", 9999, &LatencySummary::p9999},
}};

double quantile_of(const NamedPercentile& percentile) {
  return percentile.per_ten_thousand / 10'000.0;
}

std::vector<std::string> unsupported_by(std::uint64_t n) {
  std::vector<std::string> names;
  for (const auto& percentile : kPercentiles) {
    if (is_unsupported(n, percentile.per_ten_thousand)) names.emplace_back(percentile.name);
  }
  return names;
}

}  // namespace

std::uint64_t nearest_rank(std::uint64_t n, double p) {
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(n);
  const double rank = std::ceil(position * (1 - 1e-15));
  if (rank < 1) return 0;
  return std::min(static_cast<std::uint64_t>(rank), n) - 1;
}

std::int64_t percentile(std::span<const std::int64_t> sorted, double p) {
  return sorted.empty() ? 0 : sorted[nearest_rank(sorted.size(), p)];
}

double percentile_linear(std::span<const double> sorted, double p) {
  if (sorted.empty()) return 0;
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return std::lerp(sorted[below], sorted[below + 1], position - static_cast<double>(below));
}

std::span<const NamedPercentile> summary_percentiles() {
  return kPercentiles;
}

bool is_unsupported(std::uint64_t n, int per_ten_thousand) {
  const double beyond = static_cast<double>(n) * (10'000 - per_ten_thousand);  // exact for any n below 2^39
  return beyond < 10'000;
}

LatencySummary summarize(std::vector<std::int64_t>& samples) {
  LatencySummary summary;
  if (samples.empty()) return summary;
  for (auto& sample : samples) sample = std::max<std::int64_t>(sample, 0);
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  double sum = 0;
  for (const auto sample : samples) sum += static_cast<double>(sample);
  const double mean = sum / n;
  double squares = 0;
  for (const auto sample : samples) {
    const double distance = static_cast<double>(sample) - mean;
    squares += distance * distance;
  }
  summary.count = samples.size();
  summary.min = static_cast<double>(samples.front()) * kNano;
  summary.max = static_cast<double>(samples.back()) * kNano;
  summary.mean = mean * kNano;
  summary.stddev = std::sqrt(squares / n) * kNano;
  for (const auto& named : kPercentiles) {
    summary.*named.member = static_cast<double>(percentile(samples, quantile_of(named))) * kNano;
  }
  summary.unsupported = unsupported_by(summary.count);
  return summary;
}

LatencySummary summarize(const Histogram& histogram) {
  LatencySummary summary;
  if (histogram.count() == 0) return summary;
  summary.count = histogram.count();
  summary.min = static_cast<double>(histogram.min()) * kNano;
  summary.max = static_cast<double>(histogram.max()) * kNano;
  summary.mean = histogram.mean() * kNano;
  summary.stddev = histogram.stddev() * kNano;
  for (const auto& named : kPercentiles) {
    summary.*named.member = static_cast<double>(histogram.percentile(quantile_of(named))) * kNano;
  }
  summary.unsupported = unsupported_by(summary.count);
  return summary;
}

}  // namespace plimsoll::stats
