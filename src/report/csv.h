// The record as tidy CSV (RFC 4180): one row a test, one column a figure (figures.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stats/record.h"

namespace plimsoll::report {

// One field, quoted where it must be. A field that a spreadsheet would take for a formula gets no special
// treatment: figures may be negative, and names come from the tool itself or are quoted.
std::string csv_field(std::string_view text);

// A row with its line end ("\n").
std::string csv_row(const std::vector<std::string>& fields);

// Header and rows: test, target, action, concurrency, repeat, upload, every figure that any test of the record
// has (empty where a test has none or nothing was measured), unsupported (percentiles, ';' between), statuses
// ("200:96;404:2"), errors and notes ("reset:1"), failed_checks (their number).
std::string csv(const stats::Record& record);

}  // namespace plimsoll::report
