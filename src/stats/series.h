// What happened second by second: good and failed operations, bytes, and the percentiles of each second.
//
// The memory is bounded whatever the length of the run: beyond 3,600 points (or 4 MiB of their histograms) pairs of
// points are merged, so that a point stands for 2 s, then 4 s. Finished seconds keep their latencies as a short list
// of buckets (two significant digits), which can be merged with another thread's. One thread writes; it allocates
// once a second at most.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "stats/histogram.h"
#include "stats/record.h"

namespace plimsoll::stats {

class Series {
 public:
  static constexpr std::size_t kMaxPoints = 3'600;
  static constexpr std::size_t kMaxCells = 4 * 1024 * 1024 / 8;

  Series();

  // Forgets everything; time 0 is `start` (of the measure phase), the same for all series that are to be merged.
  void reset(Instant start);

  void good(Instant done, Nanos latency);
  void failed(Instant done);
  // Spread evenly over the seconds from `from` to `to`, so that a long transfer is no spike at its end.
  void bytes(Instant from, Instant to, std::uint64_t n);
  void merge(const Series& other);

  // All points up to the last second in which something happened or, if later, to `end`; t_s is a point's begin.
  std::vector<SeriesPoint> points(Instant end) const;

  Nanos width() const { return width_; }  // that a point stands for
  // The last complete point before `at`, and its latencies added to `latencies`; zeros where nothing happened.
  SeriesPoint last_complete(Instant at) const;
  void add_last_complete(Instant at, Histogram& latencies) const;

 private:
  struct Cell {
    std::uint32_t bucket;
    std::uint32_t count;  // stops at its maximum
  };
  struct Point {
    std::uint64_t ok = 0;
    std::uint64_t failed = 0;
    std::uint64_t bytes = 0;
    std::uint64_t min = UINT64_MAX;
    std::uint64_t max = 0;
    std::vector<Cell> cells;  // ascending by bucket
  };

  Point& at(Instant time);  // the open point: the one of `time`, or the newest where that is later
  std::size_t index_of(Instant time) const;
  void open(std::size_t index);
  void close();  // the histogram of the open point becomes its cells
  void halve();  // merges pairs of points
  void fold(Point& into, const Point& from);
  SeriesPoint summary(std::size_t index) const;

  Instant start_{};
  Nanos width_{};
  Instant open_begin_{};
  Instant open_end_{};
  std::vector<Point> points_;  // the last one is open
  Histogram latencies_;        // of the open point, not yet in its cells
  std::size_t cells_ = 0;      // in all points
};

}  // namespace plimsoll::stats
