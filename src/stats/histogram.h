// Log-linear histogram of non-negative 64-bit values (HdrHistogram's layout), for latencies in nanoseconds.
//
// Three significant decimal digits from 1 us to 1 h; what is larger goes into a counted overflow and the exact
// maximum; minimum, maximum, sum and sum of squares are exact. Owned by one thread; merge() adds another one's
// counts, which is the only right way to combine percentiles. Recording never allocates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::stats {

class Histogram {
 public:
  // Values from `lowest` (its resolution) to `highest` keep `digits` significant decimal digits (1 to 5).
  explicit Histogram(std::uint64_t lowest = 1'000, std::uint64_t highest = 3'600'000'000'000ULL, int digits = 3);

  void record(std::uint64_t value) { record(value, 1); }
  void record(std::uint64_t value, std::uint64_t count);
  void merge(const Histogram& other);  // any layout; re-records where the layouts differ
  void reset();

  std::uint64_t count() const { return count_; }
  std::uint64_t overflowed() const { return overflowed_; }
  std::uint64_t min() const;  // 0 where empty
  std::uint64_t max() const { return max_; }
  double mean() const;
  double stddev() const;  // of the population

  // Nearest rank, ceil(p*n)-1, p in [0,1]: the highest value equivalent to the bucket, kept within min and max.
  std::uint64_t percentile(double p) const;

  // HdrHistogram V2 encoding (zlib-compressed), base64, as .hlog files hold it.
  std::string encode_v2() const;
  static Checked<Histogram> decode_v2(std::string_view base64);

 private:
  int unit_magnitude_ = 0;
  int sub_bucket_half_magnitude_ = 0;
  std::uint64_t lowest_;
  std::uint64_t highest_;
  int digits_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t overflowed_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace plimsoll::stats
