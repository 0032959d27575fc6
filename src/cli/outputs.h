// Where a run's results go. Files are opened before the run, so that a bad path fails at second 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/options.h"
#include "stats/record.h"

namespace plimsoll::cli {

class OutputFiles {
 public:
  // `result_file`: --result, the same as json=FILE. The refusal names the file that cannot be written.
  static Checked<OutputFiles> open(const std::vector<Output>& outputs, const std::string& result_file,
                                   bool quiet);

  // The text report, piece by piece; nothing where another format has stdout, or with --quiet.
  void print(std::string_view text) const;
  // Everything else, from the record.
  Checked<void> write(const stats::Record& record) const;
  // Removes the files that open() made, and refuses.
  Exit refuse_before_run(std::string_view message) const;

 private:
  struct Destination {
    std::string format;
    std::string file;      // empty: stdout
    bool created = false;  // it was not there before
  };
  std::vector<Destination> destinations_;
  bool text_ = true;
};

}  // namespace plimsoll::cli
