#include "stats/histogram.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "stats/percentile.h"

namespace plimsoll::stats {
namespace {

std::uint64_t power_of_ten(int digits) {
  std::uint64_t power = 1;
  while (digits-- > 0) power *= 10;
  return power;
}

int floor_log2(std::uint64_t value) {
  return 63 - std::countl_zero(value);
}
int ceil_log2(std::uint64_t value) {
  return value <= 1 ? 0 : floor_log2(value - 1) + 1;
}

std::size_t octaves_for(std::uint64_t highest, int sub_bucket_magnitude, int unit_magnitude) {
  std::uint64_t smallest_untrackable = std::uint64_t{1} << (sub_bucket_magnitude + unit_magnitude);
  std::size_t octaves = 1;
  while (smallest_untrackable <= highest) {
    ++octaves;
    if (smallest_untrackable > UINT64_MAX / 4) break;  // the format's values are signed 64-bit numbers
    smallest_untrackable <<= 1;
  }
  return octaves;
}

}  // namespace

Histogram::Histogram(std::uint64_t lowest, std::uint64_t highest, int digits)
    : lowest_(std::max<std::uint64_t>(lowest, 1)),
      highest_(std::clamp<std::uint64_t>(highest, lowest_ * 2, INT64_MAX)),
      digits_(std::clamp(digits, 0, 5)) {
  unit_magnitude_ = floor_log2(lowest_);
  sub_bucket_half_magnitude_ = std::max(1, ceil_log2(2 * power_of_ten(digits_))) - 1;
  assert(unit_magnitude_ + sub_bucket_half_magnitude_ <= 61);
  octave_base_ = 64 - unit_magnitude_ - sub_bucket_half_magnitude_ - 1;
  sub_bucket_mask_ = ((std::uint64_t{2} << sub_bucket_half_magnitude_) - 1) << unit_magnitude_;
  const std::size_t octaves = octaves_for(highest_, sub_bucket_half_magnitude_ + 1, unit_magnitude_);
  counts_ = ZeroedArray<std::uint64_t>((octaves + 1) << sub_bucket_half_magnitude_);
  limit_ = bucket_high(counts_.size() - 1);
}

bool Histogram::same_layout(const Histogram& other) const {
  return unit_magnitude_ == other.unit_magnitude_ && highest_ == other.highest_ &&
         sub_bucket_half_magnitude_ == other.sub_bucket_half_magnitude_;
}

int Histogram::bucket_shift(std::size_t bucket) const {
  const int octave = static_cast<int>(bucket >> sub_bucket_half_magnitude_);
  return std::max(octave - 1, 0) + unit_magnitude_;
}

std::uint64_t Histogram::bucket_low(std::size_t bucket) const {
  const std::size_t half = std::size_t{1} << sub_bucket_half_magnitude_;
  const std::uint64_t sub_bucket = bucket < half ? bucket : (bucket & (half - 1)) + half;
  return sub_bucket << bucket_shift(bucket);
}

std::uint64_t Histogram::bucket_high(std::size_t bucket) const {
  return bucket_low(bucket) + (std::uint64_t{1} << bucket_shift(bucket)) - 1;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  const std::size_t first = other.bucket_of(other.min_);
  const std::size_t last = other.bucket_of(other.max_);
  const bool same = same_layout(other);
  for (std::size_t i = first; i <= last; ++i) {
    const std::uint64_t n = other.counts_[i];
    if (n == 0) continue;
    if (same) {
      counts_[i] += n;
    } else {
      const std::uint64_t value = std::clamp(other.bucket_high(i), other.min_, other.max_);
      (value > limit_ ? overflowed_ : counts_[index_of(value)]) += n;
    }
  }
  overflowed_ += other.overflowed_;
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  sum_of_squares_ += other.sum_of_squares_;
}

void Histogram::reset() {
  if (count_ == 0) return;
  const auto first = static_cast<std::ptrdiff_t>(bucket_of(min_));
  const auto last = static_cast<std::ptrdiff_t>(bucket_of(max_));
  std::fill(counts_.begin() + first, counts_.begin() + last + 1, 0);
  count_ = overflowed_ = max_ = 0;
  min_ = UINT64_MAX;
  sum_ = 0;
  sum_of_squares_ = 0;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

double Histogram::stddev() const {
  if (count_ == 0 || min_ == max_) return 0;
  const double m = mean();
  return std::sqrt(std::max(0.0, sum_of_squares_ / static_cast<double>(count_) - m * m));
}

std::uint64_t Histogram::percentile(double p) const {
  if (count_ == 0) return 0;
  const std::uint64_t rank = nearest_rank(count_, p);
  if (rank == 0) return min_;
  if (rank >= count_ - overflowed_) return max_;
  std::uint64_t seen = 0;
  const std::size_t first = bucket_of(min_);
  for (std::size_t i = first; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen > rank) return std::clamp(bucket_high(i), min_, max_);
  }
  return max_;
}

std::uint64_t Histogram::count_up_to(std::uint64_t value) const {
  if (value >= max_) return count_;
  if (value < min_) return 0;
  if (value > limit_) return count_ - overflowed_;
  std::uint64_t seen = 0;
  const std::size_t last = index_of(value);
  for (std::size_t i = bucket_of(min_); i <= last; ++i) seen += counts_[i];
  return seen;
}

void Histogram::set_counts(const std::uint64_t* counts, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (counts[i] == 0) continue;
    counts_[i] = counts[i];
    count_ += counts[i];
    min_ = std::min(min_, bucket_low(i));
    max_ = bucket_high(i);
    const std::uint64_t middle = bucket_low(i) + (std::uint64_t{1} << bucket_shift(i)) / 2;
    const double x = static_cast<double>(middle);
    sum_ += static_cast<Wide>(middle) * counts[i];
    sum_of_squares_ += x * x * static_cast<double>(counts[i]);
  }
}

}  // namespace plimsoll::stats
