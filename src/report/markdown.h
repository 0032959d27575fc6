// A record as GitHub-flavoured Markdown, for an issue or a pull request: figures, errors, thresholds, findings,
// the machines. No text from a server or a file is ever markup in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stats/record.h"

namespace plimsoll::report {

// `text` so that a Markdown table cell shows it as it is.
std::string markdown_text(std::string_view text);

// A table; the cells must be Markdown already. Columns after the first `left` ones are aligned right.
std::string markdown_table(const std::vector<std::string>& header,
                           const std::vector<std::vector<std::string>>& rows, std::size_t left = 1);

std::string markdown(const stats::Record& record);

}  // namespace plimsoll::report
