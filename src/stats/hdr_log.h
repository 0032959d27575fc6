// HdrHistogram's two text formats, for its plotter, its log processor and everything else that reads them.
//
// .hgrm is the percentile table of one distribution; .hlog (version 1.3) holds whole histograms, one a row, under
// tags, and can be merged with those of other machines without loss. Values are nanoseconds in a Histogram and
// milliseconds in both texts (their base64 histograms stay in nanoseconds).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "stats/histogram.h"

namespace plimsoll::stats {

// The percentile table, five rows a halving of the distance to 100%, as outputPercentileDistribution() of the
// reference writes it; values are kept within the exact minimum and maximum. A last comment names the unit.
std::string hgrm(const Histogram& histogram);

class HistogramLog {
 public:
  // Rows count from `started`, the wall-clock time of the run.
  explicit HistogramLog(std::chrono::system_clock::time_point started);

  // A row: an interval of `length_s` from `start_s` after the start. In a tag, commas and white space, which the
  // format can't hold, become '_'; an empty tag is left out.
  void interval(std::string_view tag, double start_s, double length_s, const Histogram& histogram);
  // The same for an encoding that a result record holds, whose exact maximum is known beside it.
  void interval(std::string_view tag, double start_s, double length_s, double max_s,
                std::string_view encoded);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace plimsoll::stats
