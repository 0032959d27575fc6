#include "stats/distribution.h"

#include "stats/percentile.h"

namespace plimsoll::stats {

void Distribution::drop_samples() {
  exact_ = false;
  samples_ = std::vector<std::int64_t>();
}

void Distribution::merge(const Distribution& other) {
  histogram_.merge(other.histogram_);
  if (!exact_) return;
  if (other.exact_ && samples_.size() + other.samples_.size() <= kExactSamples) {
    samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
  } else {
    drop_samples();
  }
}

void Distribution::reset() {
  histogram_.reset();
  samples_.clear();
  samples_.reserve(kExactSamples);
  exact_ = true;
}

Nanos Distribution::total() const {
  return Nanos(static_cast<std::int64_t>(histogram_.mean() * static_cast<double>(histogram_.count())));
}

LatencySummary Distribution::summary() const {
  if (!exact_) return summarize(histogram_);
  std::vector<std::int64_t> sorted = samples_;
  return summarize(sorted);
}

}  // namespace plimsoll::stats
