// --fail-if: a condition on a figure that turns a run into exit code 3.
//
//   [TEST: ]FIGURE OPERATOR VALUE     'p99 > 50ms'   'errors > 0.1%'   'Pull 1MB: layer GET ttfb p99 >= 5ms'
//
// FIGURE is a name of figures.h, OPERATOR one of > >= < <=. VALUE has the figure's unit: a duration (a bare
// number is seconds), a rate ("1000" or "1000/s"), a size ("10MB"), a throughput ("100MB/s"), a share ("0.1%"),
// or a count. Without TEST the condition is on every test of the run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/figures.h"
#include "stats/record.h"

namespace plimsoll::report {

enum class Operator : std::uint8_t { more, at_least, less, at_most };

struct ThresholdRule {
  std::string text;    // as given
  std::string test;    // empty: every test
  std::string figure;  // a name of figures.h
  Operator op = Operator::more;
  Unit unit = Unit::count;
  double value = 0;

  // True where a run that breaks this rule says so about its failed operations, so that failures within it do
  // not make exit code 1.
  bool speaks_of_errors() const;
};

// In `compare`, VALUE is a change in per cent with its sign: 'p99 > +5%', 'rate < -3%'.
struct ChangeRule {
  std::string text;
  std::string test;
  std::string figure;
  Operator op = Operator::more;
  double change = 0;  // 0.05 for +5%
};

// The refusal names the accepted form, and what in the text strays from it.
Checked<ThresholdRule> parse_threshold(std::string_view text);
Checked<ChangeRule> parse_change(std::string_view text);

bool holds(double observed, Operator op, double value);

// One row for each test that the rule is on. `pass` is false where the condition holds, where no test matches,
// where a test has no such figure and where nothing was measured for it: what could not be seen did not pass.
// The row's expression carries the test's name where the rule names none and the record holds several tests.
std::vector<stats::Threshold> evaluate(const ThresholdRule& rule, const stats::Record& record);

}  // namespace plimsoll::report
