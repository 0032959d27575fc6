#include "cli/report_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <utility>

#include "cli/options.h"
#include "cli/result_input.h"
#include "report/ab_text.h"
#include "report/campaign_table.h"
#include "report/closing.h"
#include "report/compare.h"
#include "report/csv.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/plots.h"
#include "report/zb_text.h"
#include "stats/record_json.h"

namespace plimsoll::cli {
namespace {

Checked<void> write_text(const Output& output, std::string_view text) {
  if (output.file.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  std::ofstream file(output.file, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return Refusal{fmt::format("cannot write '{}'", output.file)};
  return {};
}

std::string text_of(const ResultInput& input) {
  if (input.campaign) return report::campaign_text(*input.campaign) + report::closing_lines(input.record);
  std::string text;
  const bool http = !input.record.tests.empty() && input.record.tests.front().action == "http";
  if (!http) text += report::zb_header(input.record);
  for (const auto& test : input.record.tests) {
    text += test.action == "http" ? report::ab_report(test) : report::zb_test_block(test);
  }
  return text + report::closing_lines(input.record);
}

class ReportCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("PATH", paths_, "Result files (JSON), or folders of a campaign")->required();
    add_outputs(app, "-o,--output", outputs_, {"text", "html", "md", "csv", "json"},
                "Output: text (default), html, md, csv, json; repeatable");
    app.add_option("--plots", plots_, "Draw the plots of campaigns into this folder (gnuplot)")
        ->type_name("DIR");
  }

  Exit run(const std::string&) override {
    std::vector<ResultInput> inputs;
    for (const std::string& path : paths_) {
      auto input = read_result(path);
      if (!input) return refuse(input.error().message);
      inputs.push_back(std::move(*input));
    }
    if (outputs_.empty()) outputs_.push_back({"text", ""});
    for (const Output& output : outputs_) {
      auto text = render(output.format, inputs);
      if (!text) return refuse(text.error().message);
      if (auto written = write_text(output, *text); !written) return refuse(written.error().message);
    }
    if (plots_.empty()) return Exit::good;
    for (const ResultInput& input : inputs) {
      if (!input.campaign) continue;
      const auto drawn = report::draw_plots(report::campaign_plots(*input.campaign, input.record), plots_);
      if (!drawn) return refuse(drawn.error().message);
    }
    return Exit::good;
  }

 private:
  static Checked<std::string> render(const std::string& format, const std::vector<ResultInput>& inputs) {
    if (format == "html") {
      std::vector<report::HtmlRun> runs;
      for (const ResultInput& input : inputs) {
        runs.push_back({input.name, input.record, input.campaign ? &*input.campaign : nullptr});
      }
      return report::html(runs);
    }
    std::string text;
    for (const ResultInput& input : inputs) {
      if (format == "text") {
        if (inputs.size() > 1) text += fmt::format("# {}\n", input.name);
        text += text_of(input);
      } else if (format == "md") {
        if (input.campaign) text += report::campaign_markdown(*input.campaign) + "\n";
        text += report::markdown(input.record);
      } else if (format == "csv") {
        text += input.campaign ? report::campaign_csv(report::campaign_rows(*input.campaign))
                               : report::csv(input.record);
      } else {
        text += stats::to_json(input.record);
      }
    }
    return text;
  }

  std::vector<std::string> paths_;
  std::vector<Output> outputs_;
  std::string plots_;
};

class CompareCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("RESULT", paths_,
                   "BASE and NEW: a record or a campaign's folder each; several of one side joined by commas")
        ->required()
        ->expected(2);
    add_outputs(app, "-o,--output", outputs_, {"text", "md"}, "Output: text (default), md; repeatable");
    app.add_option("--fail-if", fail_if_,
                   "Exit with 3 if this change is more than noise: 'p99 > +5%'; repeatable")
        ->type_name("CONDITION")
        ->type_size(1)
        ->allow_extra_args(false);
  }

  Exit run(const std::string&) override {
    std::vector<report::ChangeRule> rules;
    for (const std::string& text : fail_if_) {
      auto rule = report::parse_change(text);
      if (!rule) return refuse(fmt::format("--fail-if: {}", rule.error().message));
      rules.push_back(std::move(*rule));
    }
    auto base = side(paths_[0]);
    if (!base) return refuse(base.error().message);
    auto now = side(paths_[1]);
    if (!now) return refuse(now.error().message);
    const report::Comparison comparison = report::compare(*base, *now);
    if (outputs_.empty()) outputs_.push_back({"text", ""});
    for (const Output& output : outputs_) {
      const std::string text =
          output.format == "md" ? report::compare_markdown(comparison) : report::compare_text(comparison);
      if (auto written = write_text(output, text); !written) return refuse(written.error().message);
    }
    bool passed = true;
    for (const auto& rule : rules) {
      for (const auto& row : report::evaluate(rule, comparison)) {
        if (row.pass) continue;
        passed = false;
        fmt::print(stderr, "plimsoll: --fail-if '{}' holds: {:+.1f}%\n", row.expression, row.observed * 100);
      }
    }
    return passed ? Exit::good : Exit::threshold_failed;
  }

 private:
  static Checked<report::CompareSide> side(const std::string& paths) {
    report::CompareSide side{.name = paths, .records = {}, .campaign = {}};
    std::size_t start = 0;
    while (start <= paths.size()) {
      const auto comma = std::min(paths.find(',', start), paths.size());
      auto input = read_result(paths.substr(start, comma - start));
      if (!input) return input.error();
      side.records.push_back(std::move(input->record));
      if (input->campaign) side.campaign = std::move(input->campaign);
      start = comma + 1;
    }
    return side;
  }

  std::vector<std::string> paths_;
  std::vector<Output> outputs_;
  std::vector<std::string> fail_if_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() {
  return std::make_unique<ReportCommand>();
}
std::unique_ptr<Command> make_compare_command() {
  return std::make_unique<CompareCommand>();
}

}  // namespace plimsoll::cli
