// The commands of the program, by name. One file a command; main() only chooses.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::cli {

// Exit codes (DESIGN: precedence 130, 2, 3, 1).
enum class Exit : int {
  good = 0,
  some_failed = 1,       // some operations failed
  usage = 2,             // usage, configuration, limits, or a target that never gave one connection
  threshold_failed = 3,  // a --fail-if or a comparison
  interrupted = 130,
};

// A command that was parsed: its options live in it, and run() does it.
class Command {
 public:
  virtual ~Command() = default;
  // Declares options on `app`; also what help, completions and the man page are drawn from.
  virtual void declare(CLI::App& app) = 0;
  virtual Exit run(const std::string& command_line) = 0;
};

struct CommandEntry {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view examples;  // printed under "Examples:" in its help
  std::unique_ptr<Command> (*make)();
};

std::span<const CommandEntry> commands();
const CommandEntry* find_command(std::string_view name);

// Sets up an app for the command: description, examples, help and its options.
std::unique_ptr<CLI::App> make_app(const CommandEntry& entry, Command& command, std::string_view called_as);

// Parses and runs. A parse error is one line on stderr and Exit::usage.
Exit run_command(const CommandEntry& entry, std::span<char* const> arguments, std::string_view called_as);

// One line on stderr: "plimsoll bench: ...". Returns Exit::usage.
Exit refuse(std::string_view message);

extern const std::string_view kVersion;

}  // namespace plimsoll::cli
