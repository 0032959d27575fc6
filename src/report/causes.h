// Where each kind of finding is to be looked for: the sentence beside it in the table of issues found.
#pragma once

#include <string>

#include "stats/record.h"

namespace plimsoll::report {

// Empty for an id that is not known.
std::string cause_of(const stats::Finding& finding);

// Into context["cause"] of each.
void name_causes(std::vector<stats::Finding>& findings);

}  // namespace plimsoll::report
