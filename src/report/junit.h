// JUnit XML: one test case a threshold, or, in a record without thresholds, one a test of the record, which fails
// where an operation failed.
#pragma once

#include <string>

#include "stats/record.h"

namespace plimsoll::report {

std::string junit(const stats::Record& record);

}  // namespace plimsoll::report
