#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/command.h"
#include "cli/documents.h"

namespace plimsoll::cli {
namespace {

void print_usage(std::FILE* out) {
  fmt::print(
      out,
      "plimsoll {}: finds the load line of a container registry\n\nUsage: plimsoll COMMAND [OPTIONS]\n\n",
      kVersion);
  for (const CommandEntry& entry : commands()) fmt::print(out, "  {:<9} {}\n", entry.name, entry.summary);
  fmt::print(
      out,
      "\n  plimsoll COMMAND --help explains a command, with examples.\n"
      "  plimsoll --version prints the version; plimsoll man the manual page (troff); plimsoll completion\n"
      "  bash|zsh|fish a completion script.\n");
}

// The program answers to zb's and ab's names too (an installed link): then there is no command word.
Exit dispatch(std::span<char* const> arguments) {
  std::string_view program = arguments.empty() ? "plimsoll" : arguments[0];
  program.remove_prefix(program.find_last_of('/') + 1);
  const auto rest = arguments.subspan(arguments.empty() ? 0 : 1);
  if (program == "zb" || program.starts_with("zb-")) return run_command(*find_command("bench"), rest, "zb");
  if (program == "ab") {
    if (const CommandEntry* http = find_command("http")) return run_command(*http, rest, "ab");
  }
  if (rest.empty()) {
    print_usage(stderr);
    return Exit::usage;
  }
  const std::string_view word = rest[0];
  if (word == "-h" || word == "--help" || word == "help") {
    print_usage(stdout);
    return Exit::good;
  }
  if (word == "-v" || word == "--version" || word == "version") {
    fmt::print("plimsoll {}\n", kVersion);
    return Exit::good;
  }
  if (word == "man") {
    fmt::print("{}", man_page());
    return Exit::good;
  }
  if (word == "completion") {
    const auto script = completion(rest.size() > 1 ? rest[1] : "");
    if (!script) return refuse(script.error().message);
    fmt::print("{}", *script);
    return Exit::good;
  }
  const CommandEntry* entry = find_command(word);
  if (entry == nullptr) {
    return refuse(fmt::format("'{}' is not a command (see plimsoll --help)", word));
  }
  return run_command(*entry, rest.subspan(1), fmt::format("plimsoll {}", word));
}

}  // namespace
}  // namespace plimsoll::cli

int main(int argc, char** argv) {
  // A peer that closes while we send is an error value of send(2), not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
    return static_cast<int>(plimsoll::cli::dispatch(arguments));
  } catch (const std::exception& error) {
    return static_cast<int>(plimsoll::cli::refuse(fmt::format("internal error: {}", error.what())));
  }
}
