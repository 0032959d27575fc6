// What this machine allows, and what of it would bend a measurement: the part of `plimsoll doctor` that needs no URL.
#pragma once

#include <string>
#include <vector>

#include "stats/record.h"

namespace plimsoll::cli {

struct Advice {
  std::string what;
  std::string value;
  std::string remark;  // empty where nothing would bend a measurement
};

// Looks at the machine as it is now: limits, network, io_uring, and who else is using it.
std::vector<Advice> examine_machine(const stats::Environment& machine);

}  // namespace plimsoll::cli
