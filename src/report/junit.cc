#include "report/junit.h"

#include <fmt/format.h>

#include <vector>

#include "report/plain.h"

namespace plimsoll::report {
namespace {

struct Case {
  std::string name;
  double seconds = 0;
  std::string failure;  // empty: passed
};

double duration(const stats::Record& record) {
  double seconds = 0;
  for (const stats::TestRecord& test : record.tests) seconds += test.phases_s.measure;
  return seconds;
}

std::vector<Case> threshold_cases(const stats::Record& record) {
  std::vector<Case> cases;
  for (const stats::Threshold& threshold : record.thresholds) {
    std::string failure;
    if (!threshold.pass) {
      failure = fmt::format("failed: {}, observed {}", threshold.expression, json_number(threshold.observed));
    }
    cases.push_back({threshold.expression, 0, std::move(failure)});
  }
  return cases;
}

std::vector<Case> test_cases(const stats::Record& record) {
  std::vector<Case> cases;
  for (const stats::TestRecord& test : record.tests) {
    std::string failure;
    if (test.operations.failed > 0) {
      failure = fmt::format("{} of {} operations failed", test.operations.failed, completed(test));
      for (const stats::ErrorCount& error : test.errors) {
        failure += fmt::format("; {} {} ({})", error.count, error.kind, sample_text(error.sample));
      }
    }
    cases.push_back({test.name, test.phases_s.measure, std::move(failure)});
  }
  return cases;
}

}  // namespace

std::string junit(const stats::Record& record) {
  const bool thresholds = !record.thresholds.empty();
  const std::vector<Case> cases = thresholds ? threshold_cases(record) : test_cases(record);
  std::size_t failures = 0;
  std::string body;
  for (const Case& item : cases) {
    body += fmt::format("  <testcase classname=\"plimsoll\" name=\"{}\" time=\"{:.6f}\"",
                        xml_escape(item.name), item.seconds);
    if (item.failure.empty()) {
      body += "/>\n";
    } else {
      ++failures;
      body += fmt::format(">\n    <failure message=\"{}\"/>\n  </testcase>\n", xml_escape(item.failure));
    }
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"plimsoll {}\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.6f}\" "
      "timestamp=\"{}\">\n"
      "{}</testsuite>\n",
      thresholds ? "thresholds" : "tests", cases.size(), failures, duration(record),
      xml_escape(record.started), body);
}

}  // namespace plimsoll::report
