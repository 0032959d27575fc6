// The folder of a campaign: raw times, the record, and at the end everything that is drawn from them. Whatever is
// in it came into being whole, so that an interrupted campaign can go on from it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/samples.h"
#include "stats/record.h"

namespace plimsoll::cli {

class SweepFolder {
 public:
  explicit SweepFolder(std::filesystem::path root) : root_(std::move(root)) {}

  Checked<void> create() const;
  // The record that an earlier part of the campaign left; without tests where there is none.
  Checked<stats::Record> earlier() const;
  bool holds(const std::filesystem::path& csv) const;

  // iteration,spent_time of the good operations, as the campaign's document has it: in the order of their ends,
  // numbered from 1 in the order of their start.
  Checked<void> write_samples(const std::filesystem::path& csv, std::vector<load::SampleFile>& samples) const;
  Checked<void> write_record(const stats::Record& record) const;
  // Findings into the record; summary.csv, summary.md, report.html, plots/. Tells the campaign's tables as text.
  // What could not be drawn is said on stderr and is no failure: the figures are there.
  Checked<std::string> finish(stats::Record& record) const;

 private:
  Checked<void> write_whole(const std::filesystem::path& name, const std::string& text) const;

  std::filesystem::path root_;
};

}  // namespace plimsoll::cli
