#include "report/scalability.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/campaign_table.h"
#include "report/statistics.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kBlocks = 20;
constexpr std::size_t kFewest = 30;  // operations of a level that says anything
constexpr double kBelowAsked = 0.7;  // a ceiling is below this share of the highest level
constexpr double kGrowth = 0.6;      // and the rate grows by less than this share of the concurrency's growth
constexpr double kSaturated = 0.93;  // of the saturated rate: the level from which more only waits
constexpr std::uint64_t kSeed = 0x9d1c'e117;

// Solves the normal equations of the chosen columns by elimination; false where they are singular.
bool solve(std::vector<std::array<double, 4>>& rows) {
  const std::size_t n = rows.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t best = i;
    for (std::size_t j = i + 1; j < n; ++j)
      best = std::fabs(rows[j][i]) > std::fabs(rows[best][i]) ? j : best;
    std::swap(rows[i], rows[best]);
    if (std::fabs(rows[i][i]) < 1e-30) return false;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = rows[j][i] / rows[i][i];
      for (std::size_t k = i; k < n; ++k) rows[j][k] -= factor * rows[i][k];
      rows[j][3] -= factor * rows[i][3];
    }
  }
  return true;
}

struct Fit {
  std::array<double, 3> coefficients{};
  double error = 0;
};

// Least squares of N / X = a + b (N - 1) + c N (N - 1) over the columns in `mask`, relative errors.
std::optional<Fit> fit(std::span<const LevelRate> levels, unsigned mask) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < 3; ++i) {
    if ((mask >> i & 1U) != 0) chosen.push_back(i);
  }
  const auto basis = [](const LevelRate& level) {
    const double n = level.concurrency;
    return std::array{1.0, n - 1, n * (n - 1)};
  };
  std::vector<std::array<double, 4>> rows(chosen.size(), std::array<double, 4>{});
  for (const LevelRate& level : levels) {
    const double y = level.concurrency / level.rate;
    const auto x = basis(level);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (std::size_t j = 0; j < chosen.size(); ++j) rows[i][j] += x[chosen[i]] * x[chosen[j]] / (y * y);
      rows[i][3] += x[chosen[i]] / y;
    }
  }
  if (!solve(rows)) return std::nullopt;
  Fit out;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    out.coefficients[chosen[i]] = rows[i][3] / rows[i][i];
    if (out.coefficients[chosen[i]] < 0) return std::nullopt;
  }
  for (const LevelRate& level : levels) {
    const auto x = basis(level);
    const double y = level.concurrency / level.rate;
    const double fitted =
        out.coefficients[0] * x[0] + out.coefficients[1] * x[1] + out.coefficients[2] * x[2];
    out.error += (fitted / y - 1) * (fitted / y - 1);
  }
  return out;
}

// Operations of the steady part, in order of completion: without the first wave, which found nobody before it, and
// the last, which left the machine more and more alone.
std::span<const double> steady(const CampaignSeries& series) {
  const std::span<const double> all(series.seconds);
  const auto wave = static_cast<std::size_t>(series.concurrency > 1 ? series.concurrency : 0);
  if (all.size() >= 4 * wave) return all.subspan(wave, all.size() - 2 * wave);
  if (all.size() >= 2 * wave) return all.subspan(wave);
  return all;
}

std::vector<double> first_wave(const CampaignSeries& series) {
  const auto wave =
      std::min<std::size_t>(series.seconds.size(), static_cast<std::size_t>(series.concurrency));
  std::vector<double> times(series.seconds.begin(),
                            series.seconds.begin() + static_cast<std::ptrdiff_t>(wave));
  std::ranges::sort(times);
  return times;
}

double measured_rate(const CampaignSeries& series, const stats::Record& record) {
  for (const stats::TestRecord& test : record.tests) {
    if (belongs(series, test) && !test.details.contains("rate")) return test.rate_per_s;
  }
  return 0;
}

// Rates of the levels from the first one that is within kSaturated of the best.
struct Saturation {
  std::size_t first = 0;
  double rate = 0;
  double low = 0;
  double high = 0;
};

Saturation saturation(const std::vector<Level>& levels) {
  double best = 0;
  for (const Level& level : levels) best = std::max(best, level.rate);
  Saturation out;
  while (levels[out.first].rate < kSaturated * best) ++out.first;
  std::vector<double> rates;
  std::vector<double> lows;
  std::vector<double> highs;
  for (std::size_t i = out.first; i < levels.size(); ++i) {
    rates.push_back(levels[i].rate);
    lows.push_back(levels[i].rate_low);
    highs.push_back(levels[i].rate_high);
  }
  out.rate = median(rates);
  out.low = std::ranges::min(lows);
  out.high = std::ranges::max(highs);
  return out;
}

bool still_grows(const std::vector<Level>& levels) {
  const Level& top = levels.back();
  for (auto level = levels.rbegin() + 1; level != levels.rend(); ++level) {
    const double wider = static_cast<double>(top.concurrency) / level->concurrency;
    if (wider < 1.5) continue;
    return top.rate / level->rate > 1 + kGrowth * (wider - 1);
  }
  return true;  // no lower level far enough away to tell
}

// Times of the operations that a saturated level admits first: as many of its first wave as surely fit.
std::vector<double> admitted_first(const std::vector<Level>& levels, double alone) {
  std::vector<double> times;
  const auto fit = static_cast<std::size_t>(std::max(1.0, std::floor(alone)));
  for (const Level& level : levels) {
    if (level.concurrency < 2 * alone) continue;
    const auto take = static_cast<std::ptrdiff_t>(std::min(fit, level.first_wave.size()));
    times.insert(times.end(), level.first_wave.begin(), level.first_wave.begin() + take);
  }
  return times;
}

}  // namespace

double Usl::rate(double concurrency) const {
  const double n = concurrency;
  return lambda * n / (1 + sigma * (n - 1) + kappa * n * (n - 1));
}

std::optional<double> Usl::peak() const {
  if (kappa < 1e-12 || sigma >= 1) return std::nullopt;
  return std::sqrt((1 - sigma) / kappa);
}

std::optional<Usl> fit_usl(std::span<const LevelRate> levels) {
  if (levels.size() < 3) return std::nullopt;
  for (const LevelRate& level : levels) {
    if (level.rate <= 0 || level.concurrency < 1) return std::nullopt;
  }
  std::optional<Fit> best;
  for (const unsigned mask : {1U, 3U, 5U, 7U}) {
    const auto candidate = fit(levels, mask);
    if (candidate && candidate->coefficients[0] > 0 && (!best || candidate->error < best->error))
      best = candidate;
  }
  if (!best) return std::nullopt;
  const auto [a, b, c] = best->coefficients;
  return Usl{1 / a, b / a, c / a};
}

std::optional<Usl> fit_usl(const std::vector<Level>& levels) {
  std::vector<LevelRate> rates;
  for (const Level& level : levels) rates.push_back({static_cast<double>(level.concurrency), level.rate});
  return fit_usl(std::span<const LevelRate>(rates));
}

std::vector<Level> levels(std::span<const CampaignSeries* const> series, const stats::Record& record) {
  std::map<int, std::vector<const CampaignSeries*>> by_level;
  for (const CampaignSeries* one : series) by_level[one->concurrency].push_back(one);
  Random random(kSeed);
  std::vector<Level> out;
  for (const auto& [concurrency, repeats] : by_level) {
    Level level;
    level.concurrency = concurrency;
    std::vector<double> times;
    double measured = 0;
    for (const CampaignSeries* one : repeats) {
      const auto part = steady(*one);
      times.insert(times.end(), part.begin(), part.end());
      const auto wave = first_wave(*one);
      level.first_wave.insert(level.first_wave.end(), wave.begin(), wave.end());
      measured += measured_rate(*one, record) / static_cast<double>(repeats.size());
    }
    std::ranges::sort(level.first_wave);
    level.mean_s = mean(times);
    level.median_s = median(times);
    if (level.mean_s <= 0 || times.size() < kFewest) continue;
    const Interval interval = bootstrap(block_means(times, kBlocks), mean, random, 400);
    level.mean_low_s = interval.low;
    level.mean_high_s = interval.high;
    level.rate = measured > 0 ? measured : concurrency / level.mean_s;
    level.rate_low = level.rate * level.mean_s / interval.high;
    level.rate_high = level.rate * level.mean_s / std::max(interval.low, level.mean_s / 100);
    out.push_back(std::move(level));
  }
  return out;
}

std::optional<Ceiling> find_ceiling(const std::vector<Level>& levels) {
  if (levels.size() < 2 || still_grows(levels)) return std::nullopt;
  const Level& lowest = levels.front();
  const Level& top = levels.back();
  const Saturation saturated = saturation(levels);
  // A lone operation's time; a lowest level above 1 stands in for it, each of its operations as if it were alone.
  const double alone = saturated.rate * lowest.mean_s;
  if (saturated.high * lowest.mean_high_s > kBelowAsked * top.concurrency) return std::nullopt;

  Ceiling ceiling;
  ceiling.unloaded_s = lowest.mean_s;
  ceiling.rate = saturated.rate;
  ceiling.saturation_level = levels[saturated.first].concurrency;
  const std::vector<double> first = admitted_first(levels, alone);
  ceiling.admission = !top.first_wave.empty() && quantile(top.first_wave, 0.1) < 0.65 * top.median_s;
  const double free_s = ceiling.admission ? std::max(lowest.mean_s, median(first)) : lowest.mean_s;
  const double slow_s =
      ceiling.admission ? std::max(lowest.mean_high_s, quantile(first, 1)) : lowest.mean_high_s;
  ceiling.estimate = saturated.rate * free_s;
  ceiling.low = std::min(saturated.low * lowest.mean_low_s, ceiling.estimate);
  ceiling.high = std::max(saturated.high * slow_s, ceiling.estimate);
  ceiling.usl = fit_usl(levels);
  return ceiling;
}

}  // namespace plimsoll::report
