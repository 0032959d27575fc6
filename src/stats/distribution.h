// A distribution of times: a histogram always, and the exact samples as long as they are few.
//
// A test of up to 65,536 operations gets exact percentiles; beyond it the samples are dropped and the histogram
// (three significant digits) answers. Minimum, maximum and mean are exact either way. One thread records; what
// several recorded is merged. Recording allocates nothing: the room for the samples is reserved beforehand, and
// costs memory only as far as it is written to.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "stats/histogram.h"
#include "stats/record.h"

namespace plimsoll::stats {

class Distribution {
 public:
  static constexpr std::size_t kExactSamples = 65'536;

  Distribution() { samples_.reserve(kExactSamples); }

  void record(Nanos time) {  // a negative time counts as 0
    const std::int64_t value = time.count() < 0 ? 0 : time.count();
    histogram_.record(static_cast<std::uint64_t>(value));
    if (!exact_) return;
    if (samples_.size() < kExactSamples) {
      samples_.push_back(value);
    } else {
      drop_samples();
    }
  }

  void merge(const Distribution& other);
  void reset();

  std::uint64_t count() const { return histogram_.count(); }
  bool exact() const { return exact_; }
  Nanos total() const;  // the sum of all
  const Histogram& histogram() const { return histogram_; }
  LatencySummary summary() const;

 private:
  void drop_samples();

  Histogram histogram_;
  std::vector<std::int64_t> samples_;  // in order of recording; all of them while exact_
  bool exact_ = true;
};

}  // namespace plimsoll::stats
