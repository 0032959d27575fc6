// What is drawn from the option tables besides --help: the man page, and completions for bash, zsh and fish.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace plimsoll::cli {

// troff, for plimsoll(1).
std::string man_page();
// A refusal for another shell than bash, zsh and fish.
Checked<std::string> completion(const std::string& shell);

}  // namespace plimsoll::cli
