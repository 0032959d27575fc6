// Reads a campaign's folder of raw times, our own sweep's or one that others left.
//
//   DIR/[TARGET/][image-I/][repeat-R/]concurrency-N/ACTION_results.csv     ACTION: push, pull, or any other word
//
// Several images make several actions: "push image-1", "push image-2".
// Each file has the header iteration,spent_time and a row an operation, in order of completion; seconds. Without a
// TARGET level the target is named after DIR. What is sound is read; what is not is left out and named by file and
// line. One thread; the time is that of reading, the memory 12 bytes an operation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::report {

// What was not sound: a row, a file or a place where a file should be.
struct CampaignProblem {
  std::string file;        // relative to the folder, or its name
  std::uint64_t line = 0;  // from 1; 0 where it is the file as a whole
  std::string text;

  // "concurrency-10/push_results.csv:17: the time is negative; the row is left out"
  std::string message() const;
};

// The operations of one target, action, level and repeat, in the order of the file.
struct CampaignSeries {
  std::string target;
  std::string action;
  int concurrency = 0;
  int repeat = 0;
  std::string file;
  std::vector<std::uint32_t> iterations;
  std::vector<double> seconds;  // beside iterations
};

struct Campaign {
  std::string name;                    // the folder's
  std::vector<CampaignSeries> series;  // by target, action (push, pull, then the rest), concurrency, repeat
  std::vector<CampaignProblem> problems;
};

// Refused where the folder can't be read or holds no sound row at all.
Checked<Campaign> read_campaign(const std::filesystem::path& folder);

// One file: fills `series.iterations` and `series.seconds`. At most kProblemsPerFile problems are named, and how
// many more there were.
//   - blank lines, CRLF, a byte order mark and spaces around a field are read over (a blank line is named)
//   - columns are found by the header's names; without a header the two columns are taken as they stand
//   - left out: another number of columns than the header, an iteration that is no number or came before, a time
//     that is no number, not finite or negative, and a last line that was cut off
// A last line without a line end counts as cut off where it has fewer digits than any other row.
inline constexpr std::size_t kProblemsPerFile = 20;
void read_results(std::istream& in, CampaignSeries& series, std::vector<CampaignProblem>& problems);

}  // namespace plimsoll::report
