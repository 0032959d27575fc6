// Reading results back: records (JSON), and folders of a campaign's raw times.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "report/campaign_csv.h"
#include "stats/record.h"

namespace plimsoll::cli {

struct ResultInput {
  std::string name;
  stats::Record record;
  std::optional<report::Campaign> campaign;  // of a folder
};

// A record file; a folder with result.json and concurrency-N folders (our own sweep's), or with the latter alone.
// What was not sound in a folder is told on stderr. The refusal is one line that names the path.
Checked<ResultInput> read_result(const std::string& path);

}  // namespace plimsoll::cli
