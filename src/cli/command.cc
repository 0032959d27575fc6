#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "cli/bench_command.h"
#include "cli/doctor_command.h"
#include "cli/http_command.h"
#include "cli/options.h"
#include "cli/report_command.h"
#include "cli/serve_command.h"
#include "cli/sweep_command.h"

#ifndef PLIMSOLL_VERSION
#error "PLIMSOLL_VERSION comes from the build"
#endif

namespace plimsoll::cli {
namespace {

constexpr std::array kCommands = {
    CommandEntry{"bench", "Measure a registry with zb's suite of pushes, pulls and mixes", kBenchExamples,
                 &make_bench_command},
    CommandEntry{"http", "Load HTTP URLs: the job of ab, wrk and h2load", kHttpExamples, &make_http_command},
    CommandEntry{"sweep", "A campaign: pushes and pulls over levels of concurrency", kSweepExamples,
                 &make_sweep_command},
    CommandEntry{"serve", "Run the embedded registry and static file server", kServeExamples,
                 &make_serve_command},
    CommandEntry{"report", "Render results: text, HTML, Markdown, CSV, plots", kReportExamples,
                 &make_report_command},
    CommandEntry{"compare", "Say which figures changed beyond noise between two results", kCompareExamples,
                 &make_compare_command},
    CommandEntry{"doctor", "Say what a registry supports, where it strays, and what bends a measurement here",
                 kDoctorExamples, &make_doctor_command},
};

}  // namespace

const std::string_view kVersion = PLIMSOLL_VERSION;

std::span<const CommandEntry> commands() {
  return kCommands;
}

const CommandEntry* find_command(std::string_view name) {
  const auto at = std::ranges::find(kCommands, name, &CommandEntry::name);
  return at == kCommands.end() ? nullptr : &*at;
}

std::unique_ptr<CLI::App> make_app(const CommandEntry& entry, Command& command, std::string_view called_as) {
  auto app = std::make_unique<CLI::App>(std::string(entry.summary), std::string(called_as));
  app->set_help_flag("-h,--help", "Print this help and exit");
  app->footer(fmt::format("Examples:\n{}", entry.examples));
  app->get_formatter()->column_width(34);
  command.declare(*app);
  return app;
}

Exit refuse(std::string_view message) {
  // One line whatever the message holds.
  std::string line(message.substr(0, message.find_last_not_of('\n') + 1));
  std::ranges::replace(line, '\n', ' ');
  fmt::print(stderr, "plimsoll: {}\n", line);
  return Exit::usage;
}

Exit run_command(const CommandEntry& entry, std::span<char* const> arguments, std::string_view called_as) {
  const std::unique_ptr<Command> command = entry.make();
  const auto app = make_app(entry, *command, called_as);
  std::vector<std::string> given(arguments.begin(), arguments.end());
  std::vector<std::string> shown;
  for (const std::string_view word : split(called_as, ' ')) shown.emplace_back(word);
  shown.insert(shown.end(), given.begin(), given.end());
  try {
    std::ranges::reverse(given);  // CLI11 takes them from the back
    app->parse(given);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app->help());
    return Exit::good;
  } catch (const CLI::ParseError& error) {
    return refuse(fmt::format("{} (see {} --help)", error.what(), called_as));
  }
  return command->run(masked_command_line(shown));
}

}  // namespace plimsoll::cli
