// The last lines of a run on the console, after the blocks of all tests: what concerns the run as a whole.
#pragma once

#include <string>

#include "stats/record.h"

namespace plimsoll::report {

// Addresses that were left out and why, findings, thresholds with their verdicts, the seed, and whether the run
// was interrupted; aligned as zb's lines are. Begins with "============".
std::string closing_lines(const stats::Record& record);

}  // namespace plimsoll::report
