// The tables of a campaign: maximum, minimum, average and 90th percentile of the times by concurrency.
//
// As the campaign's document drew them: ten significant digits, and percentiles that interpolate linearly
// (position p * (n - 1)), unlike the nearest rank of latency tables; the text says so. The record made of a
// campaign has one test a series and is what every other report, plot and finding starts from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/campaign_csv.h"
#include "stats/record.h"

namespace plimsoll::report {

struct CampaignRow {
  std::string target;
  std::string action;
  int concurrency = 0;
  int repeat = 0;
  std::uint64_t iterations = 0;
  double maximum = 0;
  double minimum = 0;
  double average = 0;
  double p90 = 0;
};

std::vector<CampaignRow> campaign_rows(const Campaign& campaign);

// Ten significant digits, as the document prints them: "0.09103393555", "21.4737699".
std::string ten_digits(double value);

// target,action,concurrency,iterations,maximum,minimum,average,p90; a column repeat follows where there are any.
std::string campaign_csv(const std::vector<CampaignRow>& rows);

// A table an action (and a target, where there are several), and below them what was not sound.
std::string campaign_text(const Campaign& campaign);
std::string campaign_markdown(const Campaign& campaign);

// One test a series: latencies (nearest rank), histogram-free, samples_file, and a rate that is estimated by
// Little's law from concurrency and mean time, which details["rate"] = "estimated" says. The started time and the
// machines are unknown.
stats::Record campaign_record(const Campaign& campaign);

// Whether the test was made of that series: by the file that it names, else by target, action, level and repeat.
bool belongs(const CampaignSeries& series, const stats::TestRecord& test);

// Calls each series' target and action what the record calls them: "Pull 1MB" where the file is pull-1mb_results.csv,
// "push 60kB" where the folder is image-1.
void name_by_record(Campaign& campaign, const stats::Record& record);

}  // namespace plimsoll::report
