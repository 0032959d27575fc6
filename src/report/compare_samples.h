// The samples that a comparison tests with: one value a repeat, or one a block of a run.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/compare.h"

namespace plimsoll::report {

inline constexpr std::array kComparedFigures = {"rate", "errors", "mean", "p50", "p90", "p99"};
inline constexpr std::size_t kBlocksPerRun = 10;

// One run of a test: its record, and its raw times where there are any.
struct ComparedRun {
  const stats::TestRecord* test = nullptr;
  const CampaignSeries* series = nullptr;
};

// All runs of one test on one side.
struct ComparedTest {
  std::string name;
  std::vector<ComparedRun> runs;
};

// In the order of the record; `with_target` puts the target into the name.
std::vector<ComparedTest> compared_tests(const CompareSide& side, bool with_target);

// The figure of each run; runs that lack it are left out.
std::vector<double> repeat_values(const ComparedTest& test, const std::string& figure);

// The figure of each block, run after run; empty where no run has raw times or a series long enough.
std::vector<double> block_values(const ComparedTest& test, const std::string& figure);

}  // namespace plimsoll::report
