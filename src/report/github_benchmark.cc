#include "report/github_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "report/figures.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::Record;
using stats::TestRecord;

// Repeats of one test, under the name that stays the same from run to run.
struct Group {
  std::string name;
  std::vector<const TestRecord*> repeats;
};

std::vector<Group> groups(const Record& record) {
  std::set<std::string> targets;
  std::map<std::string, std::set<int>> levels;
  for (const TestRecord& test : record.tests) {
    targets.insert(test.target);
    levels[test.name].insert(test.concurrency);
  }
  std::vector<Group> out;
  for (const TestRecord& test : record.tests) {
    std::string name = targets.size() > 1 ? fmt::format("{} {}", test.target, test.name) : test.name;
    if (levels[test.name].size() > 1) name += fmt::format(" c={}", test.concurrency);
    auto group = std::ranges::find(out, name, &Group::name);
    if (group == out.end()) group = out.insert(out.end(), Group{name, {}});
    group->repeats.push_back(&test);
  }
  return out;
}

struct Series {
  const char* figure;
  const char* suffix;
  const char* unit;
  double scale;
};

std::string entry(const Group& group, const Series& series) {
  std::vector<double> values;
  for (const TestRecord* test : group.repeats) {
    const auto figure = find_figure(*test, series.figure);
    if (figure && figure->known) values.push_back(figure->value * series.scale);
  }
  if (values.empty()) return "";
  std::ranges::sort(values);
  const auto n = values.size();
  const double median = (values[(n - 1) / 2] + values[n / 2]) / 2;
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(n);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  std::string out = fmt::format(R"({{"name":{},"unit":"{}","value":{})",
                                json_string(fmt::format("{} {}", group.name, series.suffix)), series.unit,
                                json_number(median));
  if (n > 1) out += fmt::format(R"(,"range":"± {:.6g}")", std::sqrt(squares / static_cast<double>(n - 1)));
  const TestRecord& test = *group.repeats.front();
  const auto extra =
      fmt::format("concurrency {}, {} operations, {} repeats", test.concurrency, completed(test), n);
  return out + fmt::format(R"(,"extra":{}}})", json_string(extra));
}

std::string array(const Record& record, const std::vector<Series>& all) {
  std::vector<std::string> entries;
  for (const Group& group : groups(record)) {
    for (const Series& series : all) {
      if (std::string text = entry(group, series); !text.empty()) entries.push_back(std::move(text));
    }
  }
  return entries.empty() ? "[]\n" : "[\n  " + join(entries, ",\n  ") + "\n]\n";
}

}  // namespace

std::string bench_bigger(const Record& record) {
  return array(record, {{"rate", "rate", "ops/s", 1},
                        {"throughput sent", "sent", "MiB/s", 0x1p-20},
                        {"throughput received", "received", "MiB/s", 0x1p-20}});
}

std::string bench_smaller(const Record& record) {
  return array(record, {{"p50", "p50", "ms", 1e3},
                        {"p90", "p90", "ms", 1e3},
                        {"p99", "p99", "ms", 1e3},
                        {"errors", "errors", "%", 100}});
}

}  // namespace plimsoll::report
