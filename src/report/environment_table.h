// The machines of a run as the campaign's document describes them: one column a machine; and the targets with the
// addresses that were talked to.
#pragma once

#include <string>
#include <vector>

#include "stats/record.h"

namespace plimsoll::report {

struct EnvironmentTable {
  std::vector<std::string> machines;           // header: the generator first
  std::vector<std::vector<std::string>> rows;  // label, then one value a machine; plain text, unescaped
};

// Hardware and system: rows that no machine fills are left out.
EnvironmentTable hardware(const stats::Record& record);

// Software versions, one row a name.
EnvironmentTable versions(const stats::Record& record);

// Both tables, DATA_SIZE (bytes in details["data_size"] of the tests) the targets, and who talked to whom, as Markdown.
std::string environment_markdown(const stats::Record& record);

}  // namespace plimsoll::report
