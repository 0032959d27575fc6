#include "report/series_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/units.h"
#include "report/plain.h"
#include "report/statistics.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kDriftBlocks = 20;
constexpr double kChance = 0.0005;
constexpr double kLeastDrift = 0.05;
constexpr double kLeastWarmUp = 1.2;
constexpr double kFarSpreads = 6;  // robust standard deviations of the logarithm
constexpr double kFarRatio = 2;    // and times the median
constexpr double kFewFar = 0.02;   // more than this share is no exception any more
constexpr std::size_t kFewest = 30;
constexpr double kSmallestHump = 0.05;
constexpr double kValley = 0.5;

std::vector<double> logarithms(std::span<const double> times) {
  std::vector<double> out;
  out.reserve(times.size());
  for (const double time : times) out.push_back(std::log(std::max(time, 1e-9)));
  return out;
}

// Which times are far above the rest; empty where there are too few to say, or so many that they are no exception.
std::vector<std::size_t> far_above(std::span<const double> times) {
  if (times.size() < kFewest) return {};
  const std::vector<double> logs = logarithms(times);
  const Robust shape = robust(logs);
  const double limit = shape.centre + std::max(kFarSpreads * shape.spread, std::log(kFarRatio));
  std::vector<std::size_t> far;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (logs[i] > limit) far.push_back(i);
  }
  return far;
}

// The expected number of places where `k` of `n` marked positions, spread by chance, stand within `window`.
double clusters_by_chance(double n, double marked, double k, double window) {
  const double share = marked / n;
  const double log_ways = std::lgamma(window + 1) - std::lgamma(k + 1) - std::lgamma(window - k + 1);
  return n * std::exp(log_ways + k * std::log(share));
}

struct Cluster {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t count = 0;
};

// Runs of marked positions with no gap wider than `window`.
std::vector<Cluster> clusters(const std::vector<std::size_t>& marked, std::size_t window) {
  std::vector<Cluster> out;
  for (const std::size_t at : marked) {
    if (out.empty() || at - out.back().last > window) out.push_back({at, at, 0});
    out.back().last = at;
    ++out.back().count;
  }
  return out;
}

double median_of(std::span<const double> values) {
  return median({values.begin(), values.end()});
}

// The cut that parts sorted values into two classes with the greatest distance of their means (Otsu).
std::size_t best_cut(const std::vector<double>& sorted) {
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const auto n = static_cast<double>(sorted.size());
  double below = 0;
  double best = -1;
  std::size_t cut = 0;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    below += sorted[i];
    const auto count = static_cast<double>(i + 1);
    const double distance = below / count - (total - below) / (n - count);
    const double between = count * (n - count) * distance * distance;
    if (between > best) {
      best = between;
      cut = i + 1;
    }
  }
  return cut;
}

std::size_t distinct(const std::vector<double>& sorted) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) count += i == 0 || sorted[i] != sorted[i - 1] ? 1 : 0;
  return count;
}

double count_within(const std::vector<double>& sorted, double centre, double half_width) {
  const auto first = std::ranges::lower_bound(sorted, centre - half_width);
  const auto last = std::ranges::upper_bound(sorted, centre + half_width);
  return static_cast<double>(last - first);
}

}  // namespace

std::vector<double> by_iteration(const CampaignSeries& series) {
  const auto& iterations = series.iterations;
  if (std::ranges::is_sorted(iterations)) return series.seconds;
  std::vector<std::pair<std::uint32_t, double>> rows;
  rows.reserve(iterations.size());
  for (std::size_t i = 0; i < iterations.size(); ++i) rows.emplace_back(iterations[i], series.seconds[i]);
  std::ranges::sort(rows, {}, &std::pair<std::uint32_t, double>::first);
  std::vector<double> times;
  times.reserve(rows.size());
  for (const auto& [iteration, time] : rows) times.push_back(time);
  return times;
}

std::optional<Drift> find_drift(std::span<const double> times) {
  times = times.subspan(times.size() / 10);  // a warm-up is not a drift
  if (times.size() < 5 * kDriftBlocks) return std::nullopt;
  const std::vector<double> blocks = block_medians(times, kDriftBlocks);
  const Trend found = trend(blocks);
  const double whole = median_of(times);
  if (whole <= 0) return std::nullopt;
  const double steps = static_cast<double>(kDriftBlocks) / whole;
  Drift drift{found.slope * steps, found.low * steps, found.high * steps, found.p_value};
  const bool beyond_chance = drift.p_value < kChance && drift.low * drift.high > 0;
  if (!beyond_chance || std::fabs(drift.change) < kLeastDrift) return std::nullopt;
  return drift;
}

std::optional<WarmUp> find_warm_up(std::span<const double> times) {
  constexpr std::array<std::size_t, 4> heads = {10, 20, 50, 100};
  std::optional<WarmUp> best;
  for (const std::size_t head : heads) {
    if (times.size() < 4 * head) break;
    const auto first = times.first(head);
    const auto next = times.subspan(head, 3 * head);
    const double after = median_of(next);
    if (after <= 0) continue;
    const double p = rank_test(next, first).greater * static_cast<double>(heads.size());
    const double ratio = median_of(first) / after;
    const bool slower = ratio >= kLeastWarmUp && median_of(first) >= kLeastWarmUp * median_of(times);
    if (p < kChance && slower && (!best || ratio > best->ratio)) {
      best = WarmUp{static_cast<double>(head), ratio, p};
    }
  }
  return best;
}

std::optional<Outliers> find_outliers(std::span<const double> times) {
  const std::vector<std::size_t> far = far_above(times);
  if (far.empty()) return std::nullopt;
  const double share = static_cast<double>(far.size()) / static_cast<double>(times.size());
  if (share > kFewFar) return std::nullopt;
  double largest = 0;
  for (const std::size_t i : far) largest = std::max(largest, times[i]);
  return Outliers{static_cast<double>(far.size()), share, largest, largest / median_of(times)};
}

std::optional<Stalls> find_stalls(std::span<const double> times, int concurrency) {
  const std::vector<std::size_t> far = far_above(times);
  const auto n = static_cast<double>(times.size());
  const double share = static_cast<double>(far.size()) / std::max(n, 1.0);
  if (far.size() < 3 || share > 0.2) return std::nullopt;
  const auto window = static_cast<std::size_t>(std::clamp(concurrency, 2, 50));
  Stalls stalls;
  for (const Cluster& cluster : clusters(far, window)) {
    const auto width = static_cast<double>(cluster.last - cluster.first + window);
    if (cluster.count < 3 || static_cast<double>(cluster.count) < 0.3 * concurrency) continue;
    const double chance =
        clusters_by_chance(n, static_cast<double>(far.size()), static_cast<double>(cluster.count),
                           std::max(width, static_cast<double>(cluster.count)));
    if (chance > kChance) continue;
    ++stalls.count;
    stalls.operations += static_cast<double>(cluster.count);
    stalls.p_value = std::min(stalls.p_value, chance);
    for (std::size_t i = cluster.first; i <= cluster.last; ++i)
      stalls.longest_s = std::max(stalls.longest_s, times[i]);
  }
  return stalls.count > 0 ? std::optional(stalls) : std::nullopt;
}

std::optional<TwoHumps> find_two_humps(std::span<const double> times) {
  if (times.size() < 2 * kFewest) return std::nullopt;
  std::vector<double> logs = logarithms(times);
  std::ranges::sort(logs);
  if (distinct(logs) < kFewest) return std::nullopt;  // a coarse clock
  const std::size_t cut = best_cut(logs);
  const auto n = static_cast<double>(logs.size());
  const double share_high = (n - static_cast<double>(cut)) / n;
  if (std::min(share_high, 1 - share_high) < kSmallestHump) return std::nullopt;
  const std::span<const double> all(logs);
  const double low = median_of(all.first(cut));
  const double high = median_of(all.subspan(cut));
  if (high - low < std::log(1.1)) return std::nullopt;
  const double half_width = (high - low) / 10;
  const double hump = std::min(count_within(logs, low, half_width), count_within(logs, high, half_width));
  double valley = n;
  for (int step = 3; step <= 7; ++step) {
    valley = std::min(valley, count_within(logs, low + (high - low) * step / 10, half_width));
  }
  // The valley's count may be low by chance: three of its standard deviations are granted.
  if (hump < 10 || valley + 3 * std::sqrt(valley) + 3 > kValley * hump) return std::nullopt;
  return TwoHumps{std::exp(low), std::exp(high), share_high, valley / hump};
}

std::vector<stats::Finding> series_findings(const CampaignSeries& series) {
  const std::vector<double> all = by_iteration(series);
  const auto wave = static_cast<std::size_t>(series.concurrency > 1 ? series.concurrency : 0);
  const auto times = std::span<const double>(all).subspan(std::min(wave, all.size()));
  std::vector<stats::Finding> out;
  const auto add = [&](const char* id, const char* severity, std::string summary,
                       std::map<std::string, double> evidence) {
    std::map<std::string, std::string> context = {{"target", series.target},
                                                  {"action", series.action},
                                                  {"concurrency", fmt::format("{}", series.concurrency)}};
    if (series.repeat > 0) context["repeat"] = fmt::format("{}", series.repeat);
    summary = fmt::format("{} at concurrency {}: {}", printable(series.action), series.concurrency, summary);
    evidence["samples"] = static_cast<double>(times.size());
    out.push_back({id, severity, std::move(summary), std::move(evidence), std::move(context)});
  };
  if (const auto drift = find_drift(times)) {
    add("drift", "warning",
        fmt::format("times {} by {:.3g}% from the first to the last iteration ({:.3g}% to {:.3g}%)",
                    drift->change > 0 ? "grow" : "fall", std::fabs(drift->change) * 100, drift->low * 100,
                    drift->high * 100),
        {{"change", drift->change}, {"low", drift->low}, {"high", drift->high}, {"p_value", drift->p_value}});
  }
  if (const auto warm = find_warm_up(all)) {
    add("warm-up", "info",
        fmt::format("the first {:.0f} operations take {:.3g} times as long as those after them",
                    warm->operations, warm->ratio),
        {{"operations", warm->operations}, {"ratio", warm->ratio}, {"p_value", warm->p_value}});
  }
  const auto stalls = find_stalls(times, series.concurrency);
  if (stalls) {
    add("stalls", "warning",
        fmt::format("{:.0f} stalls that {:.0f} operations waited for together, up to {}", stalls->count,
                    stalls->operations, human_duration(stalls->longest_s)),
        {{"count", stalls->count},
         {"operations", stalls->operations},
         {"longest_s", stalls->longest_s},
         {"p_value", stalls->p_value}});
  }
  if (const auto outliers = find_outliers(times);
      outliers && !(stalls && stalls->operations >= outliers->count)) {
    add("outliers", "info",
        fmt::format(
            "{:.0f} operations ({:.2g}%) far beyond the rest, the longest {} ({:.3g} times the median)",
            outliers->count, outliers->share * 100, human_duration(outliers->largest_s),
            outliers->largest_ratio),
        {{"count", outliers->count},
         {"share", outliers->share},
         {"largest_s", outliers->largest_s},
         {"largest_ratio", outliers->largest_ratio}});
  }
  if (const auto humps = find_two_humps(times)) {
    add("two-humped", "info",
        fmt::format("times have two humps, at {} and at {} ({:.3g}% of the operations)",
                    human_duration(humps->low_s), human_duration(humps->high_s), humps->share_high * 100),
        {{"low_s", humps->low_s},
         {"high_s", humps->high_s},
         {"share_high", humps->share_high},
         {"valley", humps->valley}});
  }
  return out;
}

}  // namespace plimsoll::report
