#include "report/markdown.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/environment_table.h"
#include "report/figures.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::Record;
using stats::TestRecord;
using Rows = std::vector<std::vector<std::string>>;

std::string figure(const TestRecord& test, std::string_view name) {
  const auto found = find_figure(test, name);
  return found ? human(*found) : "-";
}

std::string test_table(const Record& record) {
  Rows rows;
  for (const TestRecord& test : record.tests) {
    const auto all = static_cast<double>(completed(test));
    rows.push_back({markdown_text(test.name), markdown_text(test.target), fmt::format("{}", test.concurrency),
                    fmt::format("{}", completed(test)), percent(static_cast<double>(test.operations.ok), all),
                    figure(test, "rate"), figure(test, "throughput sent"),
                    figure(test, "throughput received"), figure(test, "min"), figure(test, "mean"),
                    figure(test, "p50"), figure(test, "p90"), figure(test, "p99"), figure(test, "p99.9"),
                    figure(test, "max")});
  }
  return markdown_table({"Test", "Target", "Concurrency", "Completed", "Good", "Rate", "Sent", "Received",
                         "Min", "Mean", "p50", "p90", "p99", "p99.9", "Max"},
                        rows, 2);
}

// What stands under the table: percentiles that the samples do not support, self-checks that failed.
std::string doubts(const Record& record) {
  std::string out;
  for (const TestRecord& test : record.tests) {
    const auto& unsupported = test.latency_s.unsupported;
    if (!unsupported.empty()) {
      out += fmt::format("- {}: {} samples are too few for {}\n", markdown_text(test.name),
                         test.latency_s.count, join(unsupported, ", "));
    }
    for (const std::string& check : test.checks.failed) {
      out += fmt::format("- **{}**: {}\n", markdown_text(test.name), markdown_text(check));
    }
  }
  return out.empty() ? out : "\n" + out;
}

std::string error_table(const Record& record) {
  Rows rows;
  for (const TestRecord& test : record.tests) {
    const auto add = [&](const stats::ErrorCount& error, const char* sort) {
      rows.push_back({markdown_text(test.name), sort, error.kind, markdown_text(sample_text(error.sample)),
                      fmt::format("{}", error.count)});
    };
    for (const stats::ErrorCount& error : test.errors) add(error, "error");
    for (const stats::ErrorCount& note : test.notes) add(note, "note");
  }
  if (rows.empty()) return "";
  return "\n## Errors and notes\n\n" + markdown_table({"Test", "Sort", "Kind", "Sample", "Count"}, rows, 4);
}

std::string threshold_table(const Record& record) {
  Rows rows;
  for (const stats::Threshold& threshold : record.thresholds) {
    rows.push_back({markdown_text(threshold.expression), threshold.pass ? "passed" : "**failed**",
                    json_number(threshold.observed)});
  }
  if (rows.empty()) return "";
  return "\n## Thresholds (fail if)\n\n" + markdown_table({"Condition", "Verdict", "Observed"}, rows, 2);
}

// The document's table: description and cause, and what they rest on.
std::string issues_table(const Record& record) {
  Rows rows;
  for (const stats::Finding& finding : record.findings) {
    std::vector<std::string> evidence;
    for (const auto& [name, value] : finding.evidence)
      evidence.push_back(fmt::format("{} {:.6g}", markdown_text(name), value));
    std::string cause;
    for (const auto& [name, value] : finding.context) {
      if (name == "cause") {
        cause = markdown_text(value);
      } else {
        evidence.push_back(markdown_text(name) + " " + markdown_text(value));
      }
    }
    rows.push_back({markdown_text(finding.id), markdown_text(finding.severity),
                    markdown_text(finding.summary), cause, join(evidence, ", ")});
  }
  if (rows.empty()) return "";
  return "\n## Issues found\n\n" +
         markdown_table({"Issue", "Severity", "Description", "Cause", "Evidence"}, rows, 5);
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '|':
      case '~':
      case '#':
      case '!':
      case '@':
      case '$':
        out += '\\';
        out += c;
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string markdown_table(const std::vector<std::string>& header, const Rows& rows, std::size_t left) {
  std::string out = "|";
  for (const std::string& cell : header) out += fmt::format(" {} |", cell);
  out += "\n|";
  for (std::size_t i = 0; i < header.size(); ++i) out += i < left ? "---|" : "---:|";
  out += "\n";
  for (const std::vector<std::string>& row : rows) {
    out += "|";
    for (const std::string& cell : row) out += fmt::format(" {} |", cell);
    out += "\n";
  }
  return out;
}

std::string markdown(const Record& record) {
  std::string out = "# Plimsoll\n\n";
  if (record.interrupted) out += "**Interrupted: these are the figures up to then.**\n\n";
  out += test_table(record) + doubts(record) + issues_table(record) + threshold_table(record) +
         error_table(record);
  out += "\n## Environment\n\n" + environment_markdown(record);
  out += fmt::format("\nCommand: {}\n\nSeed {}, started {}, plimsoll {}\n", markdown_text(record.command),
                     record.seed, markdown_text(record.started), markdown_text(record.tool_version));
  return out;
}

}  // namespace plimsoll::report
