// Log-linear histogram of non-negative 64-bit values (HdrHistogram's layout), for latencies in nanoseconds.
//
// Three significant decimal digits from 1 us to 1 h (exact below 2 us); what is beyond the last bucket goes
// into a counted overflow and the exact maximum; minimum, maximum and sum are exact, the standard deviation
// is of the exact values. Owned by one thread; merge() adds another one's counts, which is the only right way
// to combine percentiles. Recording never allocates.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "stats/zeroed.h"

namespace plimsoll::stats {

class Histogram {
 public:
  static constexpr std::uint64_t kHighest = 3'600'000'000'000ULL;

  // Values from `lowest` (its resolution) to `highest` keep `digits` significant decimal digits (1 to 5).
  // `highest` is raised to twice `lowest` where it is less.
  explicit Histogram(std::uint64_t lowest = 1, std::uint64_t highest = kHighest, int digits = 3);

  void record(std::uint64_t value) { record(value, 1); }
  void record(std::uint64_t value, std::uint64_t count) {
    if (value > limit_) [[unlikely]] {
      overflowed_ += count;
    } else {
      counts_[index_of(value)] += count;
    }
    count_ += count;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    const double x = static_cast<double>(value);
    sum_ += static_cast<Wide>(value) * count;
    sum_of_squares_ += x * x * static_cast<double>(count);
  }
  void merge(const Histogram& other);  // any layout; re-records where the layouts differ
  void reset();

  std::uint64_t count() const { return count_; }  // those that overflowed included
  std::uint64_t overflowed() const { return overflowed_; }
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  double mean() const;
  double stddev() const;  // of the population

  // Nearest rank, ceil(p*n)-1, p in [0,1]: the highest value equivalent to the bucket, kept within min and
  // max. A rank among those that overflowed gives max.
  std::uint64_t percentile(double p) const;

  // Number of values in the buckets up to the one of `value`; all of them from max() on.
  std::uint64_t count_up_to(std::uint64_t value) const;

  // The layout: the values of bucket i are [bucket_low(i), bucket_high(i)], and no others.
  std::size_t buckets() const { return counts_.size(); }
  std::uint64_t count_at(std::size_t bucket) const { return counts_[bucket]; }
  std::uint64_t bucket_low(std::size_t bucket) const;
  std::uint64_t bucket_high(std::size_t bucket) const;
  std::size_t bucket_of(std::uint64_t value) const { return index_of(value < limit_ ? value : limit_); }
  // HdrHistogram's two dimensions of it, as .hgrm footers name them.
  std::size_t octaves() const { return (counts_.size() >> sub_bucket_half_magnitude_) - 1; }
  std::size_t sub_buckets() const { return std::size_t{2} << sub_bucket_half_magnitude_; }
  std::uint64_t lowest() const { return lowest_; }
  std::uint64_t highest() const { return highest_; }
  std::uint64_t limit() const { return limit_; }  // of the last bucket: what is above it overflows
  int digits() const { return digits_; }
  bool same_layout(const Histogram& other) const;

  // HdrHistogram V2 encoding (zlib-compressed), base64, as .hlog files hold it. The format knows nothing but
  // counts: what overflowed is written into the last bucket, and exact minimum, maximum and sum do not
  // survive.
  std::string encode_v2() const;
  // Anyone's V2 encoding of integer counts. Minimum, maximum and moments are those of the buckets. The
  // refusal says what is wrong with the text; sizes in it are bounded before they are believed.
  static Checked<Histogram> decode_v2(std::string_view base64);

 private:
  std::size_t index_of(std::uint64_t value) const {
    const int octave = octave_base_ - std::countl_zero(value | sub_bucket_mask_);
    const std::uint64_t sub_bucket = value >> (octave + unit_magnitude_);
    return (static_cast<std::size_t>(octave) << sub_bucket_half_magnitude_) +
           static_cast<std::size_t>(sub_bucket);
  }
  int bucket_shift(std::size_t bucket) const;  // log2 of the width
  void set_counts(const std::uint64_t* counts, std::size_t n);

  int unit_magnitude_ = 0;
  int sub_bucket_half_magnitude_ = 0;
  int octave_base_ = 0;
  std::uint64_t sub_bucket_mask_ = 0;
  std::uint64_t lowest_;
  std::uint64_t highest_;
  std::uint64_t limit_ = 0;
  int digits_;
  ZeroedArray<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t overflowed_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
  Wide sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace plimsoll::stats
