// Outputs that need more than the record: one row a request, histograms, ab's two files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "load/samples.h"
#include "stats/record.h"

namespace plimsoll::cli {

class SampleOutputs {
 public:
  // Opens every file. Formats: csv, hgrm, hlog, ab-percentiles (-e), ab-gnuplot (-g).
  static Checked<SampleOutputs> open(const std::vector<Output>& outputs);
  Checked<void> write(const stats::Record& record, std::vector<load::SampleFile>& samples) const;

 private:
  std::vector<Output> outputs_;
};

// "start_s,due_s,latency_s,service_s,first_byte_s,connect_s,bytes,status,error", one row a request, failures too.
std::string sample_csv_header();
std::string sample_csv_row(const load::SampleRow& row);

}  // namespace plimsoll::cli
