// The two arrays of github-action-benchmark: its direction is per file, so rates and times cannot share one.
//
//   bench-bigger.json   customBiggerIsBetter: operations a second, MiB a second both ways
//   bench-smaller.json  customSmallerIsBetter: p50, p90, p99 in ms, failed share in per cent
//
// Entries are matched by name over the history, so a name holds nothing that changes from run to run: the test,
// its target where the record has several, its concurrency where the test ran at several. Repeats of a test become
// one entry: their median, with the standard deviation as "± x".
#pragma once

#include <string>

#include "stats/record.h"

namespace plimsoll::report {

inline constexpr const char* kBenchBiggerFile = "bench-bigger.json";
inline constexpr const char* kBenchSmallerFile = "bench-smaller.json";

// Each ends in a line end. An array without entries, which that action refuses, comes from a record without tests.
std::string bench_bigger(const stats::Record& record);
std::string bench_smaller(const stats::Record& record);

}  // namespace plimsoll::report
