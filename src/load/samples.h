// Raw rows of operations, one each, good and failed: for CSV files and plots by iteration.
//
// They go to an unlinked temporary file in blocks, so that a run of any length takes no memory for them. Written by
// one thread; read by another when that has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace plimsoll::load {

// Times are from the start of the measure phase.
struct SampleRow {
  std::uint64_t sequence = 0;
  Nanos due{};
  Nanos sent{};
  Nanos first_byte{};  // 0: none came, or the workload doesn't tell
  Nanos done{};
  Nanos connect{};  // of a connection that was opened for it; 0 where one was reused
  std::uint64_t bytes = 0;
  int status = 0;
  int error = -1;  // ErrorKind, or -1
};

class SampleFile {
 public:
  SampleFile() = default;
  SampleFile(SampleFile&& other) noexcept;
  SampleFile& operator=(SampleFile&& other) noexcept;
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;
  ~SampleFile();

  void add(const SampleRow& row);
  // Rows that the disk had no room for.
  std::uint64_t lost() const { return lost_; }
  std::uint64_t rows() const { return rows_; }
  // Visits all rows in the order of their ends.
  void for_each(const std::function<void(const SampleRow&)>& visit);

 private:
  void flush();

  int fd_ = -1;
  std::uint64_t rows_ = 0;
  std::uint64_t lost_ = 0;
  std::vector<SampleRow> block_;
};

// All rows of all threads, by their sequence.
std::vector<SampleRow> by_sequence(std::vector<SampleFile>& files);

}  // namespace plimsoll::load
