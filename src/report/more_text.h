// What the classic reports (zb's, ab's) never said, as aligned lines below them.
#pragma once

#include <string>

#include "stats/record.h"

namespace plimsoll::report {

// Mean, deviation, p99.9 and the percentiles that the samples do not support; throughput both ways; open loop;
// shares of a mix, parts, connections, phases; errors and notes by kind with a sample; failed self-checks. Times
// in Go's form, as the lines above. Ends in an empty line.
std::string more_lines(const stats::TestRecord& test);

}  // namespace plimsoll::report
