// Fewer points for the eye: what a plot of a million operations needs to look like itself.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace plimsoll::report {

using Points = std::vector<std::pair<double, double>>;

// Points in order of x, at most `most` of them (if 2 or more): the lowest and the highest of each stretch, so that
// no extreme is lost. Unchanged where there are not more.
Points thinned(Points points, std::size_t most);

// Latency by percentile, from sorted times: x is 1 / (1 - p) in steps of about 10%, from 1 to the number of times,
// so that each nine of the percentile takes the same width on a log scale; y the time at nearest rank.
Points percentile_curve(std::span<const double> sorted);

}  // namespace plimsoll::report
