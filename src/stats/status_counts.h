// How often each HTTP status occurred, by its exact code. Counting is one addition.
#pragma once

#include <array>
#include <cstdint>
#include <map>

namespace plimsoll::stats {

class StatusCounts {
 public:
  // 0 (and what is no three-digit number) stands for "no answer", which is not listed.
  void count(int status) { ++counts_[status > 0 && status < kCodes ? static_cast<std::size_t>(status) : 0]; }

  void merge(const StatusCounts& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  void reset() { counts_.fill(0); }

  std::uint64_t unanswered() const { return counts_[0]; }
  // Of one class: 2 for 200 to 299.
  std::uint64_t of_class(int hundreds) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < 100; ++i) sum += counts_[static_cast<std::size_t>(hundreds) * 100 + i];
    return sum - (hundreds == 0 ? counts_[0] : 0);
  }
  std::map<int, std::uint64_t> by_code() const {
    std::map<int, std::uint64_t> out;
    for (std::size_t i = 1; i < counts_.size(); ++i) {
      if (counts_[i] > 0) out.emplace(static_cast<int>(i), counts_[i]);
    }
    return out;
  }

 private:
  static constexpr int kCodes = 1000;
  std::array<std::uint64_t, kCodes> counts_{};
};

}  // namespace plimsoll::stats
