// The console report of the registry suite: zb's lines to the letter, and below them what zb never said.
//
// zb's own lines (labels, order, alignment by text/tabwriter, Go's durations, binary32 rates) are a contract:
// scripts read them. What is added stands after them, in the same style. All functions are pure and return
// whole lines, so that the header is printed before the run and each block as its test ends.
//
// What a TestRecord must hold for it:
//   phases_s.measure        "Time taken for tests" and the rate divide by it; details["legacy_time_s"], where
//                           set (--legacy-timing), takes its place in these two lines
//   operations, statuses    counts; "2xx responses" are operations by the class of their last status
//   mix                     {"1MB",n} ... or {"Pull",n},{"Push",n}
//   steps                   named as kZbSteps for tests that pull; their ttfb_s fills the four TTFB groups
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "stats/record.h"

namespace plimsoll::report {

// The steps of a pull whose time to first byte zb prints, and zb's words for them.
struct ZbStep {
  std::string_view step;
  std::string_view label;
};
inline constexpr std::array kZbSteps = {ZbStep{"manifest HEAD", "Manifest HEAD"},
                                        ZbStep{"manifest GET", "Manifest GET"},
                                        ZbStep{"config GET", "Config"}, ZbStep{"layer GET", "Layer"}};

// From "Registry URL:" to "Starting tests ...". Needs targets, load, working_dir, upstream_url and skipped.
std::string zb_header(const stats::Record& record);

// From "============" to the last line about this test: zb's block, then more_lines() (more_text.h).
std::string zb_test_block(const stats::TestRecord& test);

// zb's block alone.
std::string zb_lines(const stats::TestRecord& test);

// zb's rate: completed operations over its time, both as binary32. 0 where nothing ran.
float zb_rate(const stats::TestRecord& test);

}  // namespace plimsoll::report
