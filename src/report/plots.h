// The plots of a campaign as gnuplot scripts, and their drawing as SVG.
//
// For each target and action: time by iteration for each level and for all levels together; time by concurrency
// (minimum, mean, 90th percentile, maximum); throughput by concurrency; latency by percentile on a log scale.
// A script carries its data, so that it can be changed and run again by hand. Series of more than 4,000 points are
// thinned to the lowest and the highest of each of 2,000 stretches, which changes nothing that an eye can see.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "report/campaign_csv.h"
#include "stats/record.h"

namespace plimsoll::report {

struct Plot {
  std::string name;    // "push_time_concurrency", of the file without its ending
  std::string title;   // "PUSH_TIME(CONCURRENCY)"
  std::string script;  // writes NAME.svg into the current directory
};

// `record` gives the rates where it has the campaign's tests (same target, action, concurrency and repeat, rate not
// estimated); elsewhere they are estimated from concurrency and mean time, and the plot says so.
std::vector<Plot> campaign_plots(const Campaign& campaign, const stats::Record& record);

// Writes NAME.gp and draws NAME.svg in `folder`, which is created. Refused, with the scripts left in place, where
// gnuplot is absent, fails or takes longer than `timeout`; `program` is its name or path.
Checked<void> draw_plots(const std::vector<Plot>& plots, const std::filesystem::path& folder,
                         Nanos timeout = std::chrono::seconds(120), const std::string& program = "gnuplot");

}  // namespace plimsoll::report
