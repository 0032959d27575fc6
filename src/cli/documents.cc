#include "cli/documents.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "base/text.h"

namespace plimsoll::cli {
namespace {

struct OptionText {
  std::vector<std::string> names;  // "-c", "--concurrency"
  std::string value;               // "N"; empty for a flag
  std::string help;
};

std::vector<OptionText> options_of(const CLI::App& app) {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      OptionText text;
      for (const std::string& name : option->get_snames()) text.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) text.names.push_back("--" + name);
      if (option->get_expected_max() != 0) text.value = option->get_type_name();
      text.help = option->get_description();
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

void for_each_command(const std::function<void(const CommandEntry&, const std::vector<OptionText>&)>& visit) {
  for (const CommandEntry& entry : commands()) {
    const auto command = entry.make();
    const auto app = make_app(entry, *command, fmt::format("plimsoll {}", entry.name));
    visit(entry, options_of(*app));
  }
}

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string out;
  for (const char c : text) {
    if (c == from) {
      out += to;
    } else {
      out += c;
    }
  }
  return out;
}

// A line may not begin with a control character of troff, and its escapes begin with a backslash.
std::string troff(std::string_view text) {
  std::string out = replaced(replaced(text, '\\', "\\e"), '-', "\\-");
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string bash_completion() {
  std::string names;
  std::string cases;
  for_each_command([&](const CommandEntry& entry, const std::vector<OptionText>& options) {
    names += fmt::format(" {}", entry.name);
    std::string words;
    for (const OptionText& option : options) words += fmt::format(" {}", fmt::join(option.names, " "));
    cases += fmt::format("    {}) words=\"{}\" ;;\n", entry.name, trim(words));
  });
  return fmt::format(
      "# bash completion for plimsoll\n"
      "_plimsoll() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words=\n"
      "  [[ ${{COMP_WORDS[0]##*/}} == zb ]] && command=bench\n"
      "  if [[ $COMP_CWORD -eq 1 && $command != bench ]]; then\n"
      "    COMPREPLY=($(compgen -W \"{} help version\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case $command in\n{}  esac\n"
      "  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _plimsoll plimsoll zb\n",
      trim(names), cases);
}

std::string zsh_quoted(std::string_view text) {
  return replaced(replaced(replaced(replaced(text, '\'', "'\\''"), '[', "\\["), ']', "\\]"), ':', "\\:");
}

std::string zsh_completion() {
  std::string names;
  std::string cases;
  for_each_command([&](const CommandEntry& entry, const std::vector<OptionText>& options) {
    names += fmt::format("    '{}:{}'\n", entry.name, zsh_quoted(entry.summary));
    std::string specs;
    for (const OptionText& option : options) {
      for (const std::string& option_name : option.names) {
        specs += fmt::format(" \\\n        '*{}[{}]{}'", option_name, zsh_quoted(option.help),
                             option.value.empty() ? "" : fmt::format(":{}:_files", zsh_quoted(option.value)));
      }
    }
    cases += fmt::format("      {}) _arguments{} '*:argument:_files' ;;\n", entry.name, specs);
  });
  return fmt::format(
      "#compdef plimsoll\n"
      "_plimsoll() {{\n"
      "  local -a commands\n"
      "  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "  else\n"
      "    local command=$words[2]\n"
      "    shift words; (( CURRENT-- ))\n"
      "    case $command in\n{}    esac\n"
      "  fi\n"
      "}}\n"
      "_plimsoll \"$@\"\n",
      names, cases);
}

std::string fish_completion() {
  std::string out = "# fish completion for plimsoll\n";
  for_each_command([&](const CommandEntry& entry, const std::vector<OptionText>& options) {
    const auto quoted = [](std::string_view text) {
      return replaced(replaced(text, '\\', "\\\\"), '\'', "\\'");
    };
    out += fmt::format("complete -c plimsoll -n __fish_use_subcommand -a {} -d '{}'\n", entry.name,
                       quoted(entry.summary));
    for (const OptionText& option : options) {
      out += fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}'", entry.name);
      for (const std::string& option_name : option.names) {
        out += option_name.starts_with("--") ? fmt::format(" -l {}", option_name.substr(2))
                                             : fmt::format(" -s {}", option_name.substr(1));
      }
      out += fmt::format("{} -d '{}'\n", option.value.empty() ? "" : " -r", quoted(option.help));
    }
  });
  return out;
}

}  // namespace

std::string man_page() {
  std::string page = fmt::format(
      ".TH PLIMSOLL 1 \"\" \"plimsoll {}\"\n"
      ".SH NAME\nplimsoll \\- finds the load line of a container registry\n"
      ".SH SYNOPSIS\n.B plimsoll\n.I COMMAND\n[\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\nMeasures container registries and HTTP servers. Called by the name \\fBzb\\fR it "
      "takes zb's\n"
      "command line, called \\fBab\\fR it takes ab's.\n",
      kVersion);
  for_each_command([&page](const CommandEntry& entry, const std::vector<OptionText>& options) {
    page += fmt::format(".SH \"PLIMSOLL {}\"\n{}\n", entry.name, troff(entry.summary));
    for (const OptionText& option : options) {
      std::string names;
      for (const std::string& option_name : option.names) {
        names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", troff(option_name));
      }
      page += fmt::format(".TP\n{}{}\n{}\n", names,
                          option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", troff(option.value)),
                          troff(option.help));
    }
    page += ".PP\nExamples:\n.nf\n";
    for (const std::string_view line : split(entry.examples, '\n')) page += troff(line) + "\n";
    page += ".fi\n";
  });
  page +=
      ".SH EXIT STATUS\n"
      ".TP\n0\nGood.\n.TP\n1\nSome operations failed.\n.TP\n2\nUsage, configuration, limits, or a target "
      "that never "
      "gave one connection.\n.TP\n3\nA threshold or a comparison failed.\n.TP\n130\nInterrupted; what was "
      "measured is "
      "reported.\n";
  return page;
}

Checked<std::string> completion(const std::string& shell) {
  if (shell == "bash") return bash_completion();
  if (shell == "zsh") return zsh_completion();
  if (shell == "fish") return fish_completion();
  return Refusal{fmt::format("completion '{}': expected bash, zsh or fish", shell)};
}

}  // namespace plimsoll::cli
