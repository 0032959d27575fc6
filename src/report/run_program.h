// Runs another program: no shell, a deadline, its messages kept. Blocks the calling thread; for use before and
// after a run, never during one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace plimsoll::report {

struct ProgramEnd {
  int exit_code = 0;     // 128 + signal where a signal ended it
  std::string messages;  // of stdout and stderr together, at most `limit` bytes
};

// arguments[0] is looked up on the PATH. Stdin is empty; the working directory is `folder`. Refused where the
// program isn't there or doesn't end within `timeout` (it is killed then).
Checked<ProgramEnd> run_program(const std::vector<std::string>& arguments,
                                const std::filesystem::path& folder, Nanos timeout,
                                std::size_t limit = 64 * 1024);

}  // namespace plimsoll::report
