// `plimsoll report`: renders records and folders of a campaign. `plimsoll compare`: what changed between two of them.
#pragma once

#include <memory>

#include "cli/command.h"

namespace plimsoll::cli {

std::unique_ptr<Command> make_report_command();
std::unique_ptr<Command> make_compare_command();

inline constexpr std::string_view kReportExamples =
    "  plimsoll report result.json\n"
    "      the text of a run\n"
    "  plimsoll report -o html=report.html monday.json tuesday.json\n"
    "      two runs on one page that needs no network\n"
    "  plimsoll report campaign/\n"
    "      tables, findings and plots of a folder concurrency-N/{push,pull}_results.csv\n"
    "  plimsoll report -o csv campaign/\n"
    "      target,action,concurrency,iterations,maximum,minimum,average,p90\n";

inline constexpr std::string_view kCompareExamples =
    "  plimsoll compare base.json new.json\n"
    "      which figures changed beyond noise, and by how much\n"
    "  plimsoll compare -o md --fail-if 'p99 > +5%' --fail-if 'rate < -5%' base.json new.json\n"
    "      a table for a pull request; exit code 3 where a condition holds\n";

}  // namespace plimsoll::cli
