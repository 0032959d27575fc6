// report.html: one file that needs no network, with everything about one or several runs.
//
// The page is a program of its own (web/); what is done here is to hand it its data as JSON inside the page. Raw
// times are thinned to some 30,000 points in all, so that the file stays below 5 MB whatever the number of
// operations. No text of a record can leave the JSON it stands in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/campaign_csv.h"
#include "report/report_page.h"
#include "stats/record.h"

namespace plimsoll::report {

struct HtmlRun {
  std::string name;  // as the page calls the run; its file's name, say
  stats::Record record;
  const Campaign* campaign = nullptr;  // its raw times, where there are any
};

// Refused in a build without the page, saying so.
Checked<std::string> html(const std::vector<HtmlRun>& runs, std::string_view page = report_page());

// What the page is given, as JSON.
std::string page_data(const std::vector<HtmlRun>& runs);

}  // namespace plimsoll::report
