// Which figures changed between two measurements, by how much, and whether it is more than noise.
//
// A change counts where all of this holds: the rank test, corrected by Holm over all figures compared, is below
// 0.05; the 95% bootstrap interval of the change excludes none; it is at least 2% (0.1 points of a share of
// errors); and it is larger than what one side differs from itself. The samples of these tests are never single
// requests, which depend on each other, but
//   - repeats, where both sides have six or more of a test,
//   - otherwise blocks: stretches of the raw times without the first wave, or of the seconds of the record's series.
// What one side differs from itself: with two to five repeats, Welch's test over them has to agree, its interval is
// taken in, and their ranges must not overlap; without, the first and the second half of a run differ by as much.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/campaign_csv.h"
#include "report/figures.h"
#include "report/thresholds.h"
#include "stats/record.h"

namespace plimsoll::report {

// Everything that was measured of one side: one record a run, or a campaign's folder with its record.
struct CompareSide {
  std::string name;
  std::vector<stats::Record> records;
  std::optional<Campaign> campaign;  // its raw times serve as blocks; records[0] is its record then
};

struct Change {
  std::string test;  // "Pull 1MB c=10", with the target where a side has several
  std::string figure;
  Unit unit = Unit::count;
  Better better = Better::neither;
  double base = 0;  // mean over the runs
  double now = 0;
  double change = 0;  // relative to base; for shares the difference
  double low = 0;     // 95% interval of it
  double high = 0;
  double p_value = 1;  // corrected
  std::string basis;   // "6 and 6 repeats", "10 and 10 blocks", "nothing to test with"
  bool significant = false;

  bool is_worse() const;
  bool is_better() const;
};

struct Comparison {
  std::string base_name;
  std::string new_name;
  std::vector<Change> changes;
  std::vector<std::string> notes;  // tests that one side lacks, comparisons without repeats

  bool any_worse() const;
};

// Tests match by name, action and concurrency, and by target where both sides have several. The figures: rate,
// errors, mean, p50, p90, p99; those that were not measured on both sides are left out.
Comparison compare(const CompareSide& base, const CompareSide& now);

std::string compare_text(const Comparison& comparison);
std::string compare_markdown(const Comparison& comparison);

// --fail-if of compare: fails where the change is more than noise and the condition holds for it. A rule that
// matches no change that was compared fails too. `observed` is the change (0.05 for +5%).
std::vector<stats::Threshold> evaluate(const ChangeRule& rule, const Comparison& comparison);

}  // namespace plimsoll::report
