// What the times of one series of operations show: drift, warm-up, stalls, two humps, outliers.
//
// Each test is made to stay silent on times that only scatter, however skewed: thresholds are on ranks and on robust
// spreads of logarithms, and an effect must be both beyond chance (p below 0.001, corrected for looking in several
// places) and large enough to matter. The operations of the first wave of a level above 1, which found nobody
// before them, take no part except in warm-up, where only slower ones count.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "report/campaign_csv.h"
#include "stats/record.h"

namespace plimsoll::report {

// The times by iteration, which is the order of their start.
std::vector<double> by_iteration(const CampaignSeries& series);

// A trend over the iterations: block medians, Kendall's test, Theil and Sen's slope.
struct Drift {
  double change = 0;  // from the first to the last iteration, relative to the median: 0.1 is 10% slower
  double low = 0;
  double high = 0;
  double p_value = 1;
};
std::optional<Drift> find_drift(std::span<const double> times);

// The first operations are slower than those that follow.
struct WarmUp {
  double operations = 0;
  double ratio = 1;  // of the median of the first to that of those after them
  double p_value = 1;
};
std::optional<WarmUp> find_warm_up(std::span<const double> times);

// Operations far beyond the rest, that stand alone.
struct Outliers {
  double count = 0;
  double share = 0;
  double largest_s = 0;
  double largest_ratio = 0;  // to the median
};
std::optional<Outliers> find_outliers(std::span<const double> times);

// Operations far beyond the rest, that were in progress at the same time.
struct Stalls {
  double count = 0;       // of stalls
  double operations = 0;  // in them
  double longest_s = 0;
  double p_value = 1;  // of the clearest one, by chance
};
std::optional<Stalls> find_stalls(std::span<const double> times, int concurrency);

// Two humps with a valley between them.
struct TwoHumps {
  double low_s = 0;  // medians of the humps
  double high_s = 0;
  double share_high = 0;
  double valley = 1;  // density between them, relative to the lower hump
};
std::optional<TwoHumps> find_two_humps(std::span<const double> times);

// All of these for one series, as findings with the context target, action, concurrency and repeat.
std::vector<stats::Finding> series_findings(const CampaignSeries& series);

}  // namespace plimsoll::report
