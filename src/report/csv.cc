#include "report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/figures.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::TestRecord;

// Columns in order of first appearance, so that those of steps and parts follow the ones that all tests have.
std::vector<std::string> figure_columns(const std::vector<std::vector<Figure>>& tests) {
  std::vector<std::string> columns;
  std::map<std::string, bool> seen;
  for (const std::vector<Figure>& test : tests) {
    for (const Figure& figure : test) {
      std::string column = column_name(figure);
      if (seen.emplace(column, true).second) columns.push_back(std::move(column));
    }
  }
  return columns;
}

std::string statuses(const TestRecord& test) {
  std::vector<std::string> parts;
  for (const auto& [status, count] : test.statuses) parts.push_back(fmt::format("{}:{}", status, count));
  return join(parts, ";");
}

std::string counts(const std::vector<stats::ErrorCount>& errors) {
  std::vector<std::string> parts;
  for (const stats::ErrorCount& error : errors)
    parts.push_back(fmt::format("{}:{}", error.kind, error.count));
  return join(parts, ";");
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_row(const std::vector<std::string>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_field(fields[i]);
  }
  return out + "\n";
}

std::string csv(const stats::Record& record) {
  std::vector<std::vector<Figure>> tests;
  tests.reserve(record.tests.size());
  for (const TestRecord& test : record.tests) tests.push_back(figures(test));
  const std::vector<std::string> columns = figure_columns(tests);

  std::vector<std::string> header = {"test", "target", "action", "concurrency", "repeat", "upload"};
  header.insert(header.end(), columns.begin(), columns.end());
  header.insert(header.end(),
                {"unsupported", "statuses", "errors_by_kind", "notes_by_kind", "failed_checks"});
  std::string out = csv_row(header);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const TestRecord& test = record.tests[i];
    std::map<std::string, std::string> values;
    for (const Figure& figure : tests[i]) {
      if (figure.known) values.emplace(column_name(figure), json_number(figure.value));
    }
    std::vector<std::string> row = {test.name,
                                    test.target,
                                    test.action,
                                    fmt::format("{}", test.concurrency),
                                    fmt::format("{}", test.repeat),
                                    test.upload};
    for (const std::string& column : columns) row.push_back(values[column]);
    row.push_back(join(test.latency_s.unsupported, ";"));
    row.push_back(statuses(test));
    row.push_back(counts(test.errors));
    row.push_back(counts(test.notes));
    row.push_back(fmt::format("{}", test.checks.failed.size()));
    out += csv_row(row);
  }
  return out;
}

}  // namespace plimsoll::report
