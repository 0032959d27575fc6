// Percentiles, by the two rules that the reports use, and the summary of a distribution.
//
// Nearest rank, ceil(p*n)-1 in the sorted samples, is the rule of every latency table: its result is a value
// that was measured. The tables of a campaign interpolate linearly between the two neighbours, as the
// document that they continue did, and say so. Samples are nanoseconds in memory; a summary is in seconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/histogram.h"
#include "stats/record.h"

namespace plimsoll::stats {

// The index, from 0, of the p-quantile among n > 0 sorted values. The rounding error of p * n (0.07 * 100 is
// a bit more than 7) does not push it to the next one.
std::uint64_t nearest_rank(std::uint64_t n, double p);

// p in [0,1]. The samples must be sorted; 0 where there are none.
std::int64_t percentile(std::span<const std::int64_t> sorted, double p);

// numpy's "linear" rule: position p * (n - 1), interpolated. Sorted samples; 0 where there are none.
double percentile_linear(std::span<const double> sorted, double p);

// One of the percentiles that a summary has, with the name that it has in records and reports.
struct NamedPercentile {
  const char* name;      // "p99.9"
  int per_ten_thousand;  // 9990
  double LatencySummary::* member;
};
std::span<const NamedPercentile> summary_percentiles();  // ascending

// True where n samples cannot tell the percentile: fewer than one sample is expected beyond it, n * (1 - p)
// < 1.
bool is_unsupported(std::uint64_t n, int per_ten_thousand);

// Exact, from all samples in nanoseconds (negative ones count as 0). Sorts them in place.
LatencySummary summarize(std::vector<std::int64_t>& samples);
// Percentiles to the histogram's resolution; the rest exact.
LatencySummary summarize(const Histogram& histogram);

}  // namespace plimsoll::stats
