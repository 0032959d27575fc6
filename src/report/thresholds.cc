#include "report/thresholds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

constexpr std::string_view kForm =
    "expected [TEST: ]FIGURE > VALUE, such as 'p99 > 50ms', 'errors > 0.1%' or 'rate < 1000'";
constexpr std::string_view kChangeForm =
    "expected [TEST: ]FIGURE > CHANGE, such as 'p99 > +5%' or 'rate < -3%'";

// The parts of an expression, still as text.
struct Parts {
  std::string_view test;
  std::string_view figure;
  Operator op = Operator::more;
  std::string_view value;
};

std::optional<Parts> take_apart(std::string_view text) {
  const auto at = text.find_last_of("<>");
  if (at == std::string_view::npos) return std::nullopt;
  Parts parts;
  std::string_view rest = text.substr(at + 1);
  const bool or_equal = rest.starts_with('=');
  if (or_equal) rest.remove_prefix(1);
  parts.value = trim(rest);
  parts.op = text[at] == '>' ? (or_equal ? Operator::at_least : Operator::more)
                             : (or_equal ? Operator::at_most : Operator::less);
  std::string_view left = trim(text.substr(0, at));
  if (const auto colon = left.rfind(':'); colon != std::string_view::npos) {
    parts.test = trim(left.substr(0, colon));
    left = trim(left.substr(colon + 1));
    if (parts.test.empty()) return std::nullopt;
  }
  parts.figure = left;
  if (parts.figure.empty() || parts.value.empty()) return std::nullopt;
  return parts;
}

// Names of steps and parts are known only once the test ran; those end in a latency or in "count".
std::optional<Figure> known_figure(std::string_view name) {
  stats::TestRecord empty;
  empty.open_loop = stats::OpenLoop{};
  if (auto figure = find_figure(empty, name)) return figure;
  const auto last = name.find_last_of(" _");
  if (last == std::string_view::npos || trim(name.substr(0, last)).empty()) return std::nullopt;
  const std::string_view word = name.substr(last + 1);
  if (iequals(word, "count")) return Figure{std::string(name), Unit::count, Better::neither, 0, true};
  for (const Figure& latency : latency_figures({}, "")) {
    if (iequals(word, latency.name)) return Figure{std::string(name), Unit::seconds, Better::lower, 0, true};
  }
  return std::nullopt;
}

std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const bool plus = text.starts_with('+');
  const auto value = parse_double(trim(plus ? text.substr(1) : text));
  return value ? std::optional(*value / 100) : std::nullopt;
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return trim(text);
}

std::optional<double> parse_value(Unit unit, std::string_view text) {
  switch (unit) {
    case Unit::seconds: {
      const auto duration = parse_duration(text);
      return duration ? std::optional(seconds(*duration)) : std::nullopt;
    }
    case Unit::per_second:
      return parse_double(without_suffix(text, "/s"));
    case Unit::bytes:
    case Unit::bytes_per_second: {
      const auto size = parse_size(unit == Unit::bytes ? text : without_suffix(text, "/s"));
      return size ? std::optional(static_cast<double>(*size)) : std::nullopt;
    }
    case Unit::share: {
      if (text.ends_with('%')) return parse_percent(text);
      const auto share = parse_double(text);
      return share && *share >= 0 && *share <= 1 ? share : std::nullopt;
    }
    case Unit::count:
      return parse_double(text);
  }
  return std::nullopt;
}

std::string_view form_of(Unit unit) {
  constexpr std::array<std::string_view, 6> forms = {
      "a duration such as 50ms",      "a rate such as 1000 or 1000/s", "a size such as 10MB",
      "a throughput such as 100MB/s", "a share such as 0.1%",          "a count such as 10"};
  return forms[static_cast<std::size_t>(unit)];
}

Refusal no_figure(std::string_view text, std::string_view figure) {
  return {fmt::format(
      "'{}': there is no figure '{}': expected rate, errors, failed, min, mean, max, p50 to p99.99, "
      "or these after service, a part or a step",
      printable(text), printable(figure))};
}

}  // namespace

bool ThresholdRule::speaks_of_errors() const {
  return figure == "errors" || figure == "failed";
}

Checked<ThresholdRule> parse_threshold(std::string_view text) {
  const auto parts = take_apart(text);
  if (!parts) return Refusal{fmt::format("'{}' is no condition: {}", printable(text), kForm)};
  const auto figure = known_figure(parts->figure);
  if (!figure) return no_figure(text, parts->figure);
  const auto value = parse_value(figure->unit, parts->value);
  if (!value) {
    return Refusal{fmt::format("'{}': '{}' is not {}: {}", printable(text), printable(parts->value),
                               form_of(figure->unit), kForm)};
  }
  return ThresholdRule{
      std::string(trim(text)), std::string(parts->test), figure->name, parts->op, figure->unit, *value};
}

Checked<ChangeRule> parse_change(std::string_view text) {
  const auto parts = take_apart(text);
  if (!parts) return Refusal{fmt::format("'{}' is no condition: {}", printable(text), kChangeForm)};
  const auto figure = known_figure(parts->figure);
  if (!figure) return no_figure(text, parts->figure);
  const auto change = parse_percent(parts->value);
  const bool has_sign = parts->value.starts_with('+') || parts->value.starts_with('-');
  if (!change || (!has_sign && *change != 0)) {
    return Refusal{fmt::format("'{}': '{}' is no change in per cent with its sign: {}", printable(text),
                               printable(parts->value), kChangeForm)};
  }
  return ChangeRule{std::string(trim(text)), std::string(parts->test), figure->name, parts->op, *change};
}

bool holds(double observed, Operator op, double value) {
  switch (op) {
    case Operator::more:
      return observed > value;
    case Operator::at_least:
      return observed >= value;
    case Operator::less:
      return observed < value;
    case Operator::at_most:
      return observed <= value;
  }
  return true;
}

std::vector<stats::Threshold> evaluate(const ThresholdRule& rule, const stats::Record& record) {
  std::vector<stats::Threshold> rows;
  for (const stats::TestRecord& test : record.tests) {
    if (!rule.test.empty() && rule.test != test.name) continue;
    const bool named = !rule.test.empty() || record.tests.size() == 1;
    std::string expression = named ? rule.text : fmt::format("{}: {}", test.name, rule.text);
    const auto figure = find_figure(test, rule.figure);
    if (!figure || !figure->known) {
      rows.push_back(
          {expression + (figure ? " (nothing was measured for it)" : " (this test has no such figure)"), 0,
           false});
    } else {
      rows.push_back({std::move(expression), figure->value, !holds(figure->value, rule.op, rule.value)});
    }
  }
  if (rows.empty()) rows.push_back({rule.text + " (no such test ran)", 0, false});
  return rows;
}

}  // namespace plimsoll::report
