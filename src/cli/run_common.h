// What every measuring command does the same way around its run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "report/thresholds.h"
#include "stats/record.h"

namespace plimsoll::cli {

// A record with tool, command, seed, start time and this machine in it.
stats::Record begin_record(const std::string& command_line, std::uint64_t seed);

// Raises the soft descriptor limit to what that many connections need; a refusal where the hard one is below that.
Checked<void> reserve_descriptors(int connections);

Checked<std::vector<report::ThresholdRule>> parse_rules(const std::vector<std::string>& fail_if);
// Fills record.thresholds.
void evaluate_rules(const std::vector<report::ThresholdRule>& rules, stats::Record& record);
// Of a run that ended by itself: 2 where no connection was ever opened, 3 where a condition held (each told on
// stderr), 1 where operations failed and no condition speaks of errors.
Exit verdict(const std::vector<report::ThresholdRule>& rules, const stats::Record& record);

}  // namespace plimsoll::cli
