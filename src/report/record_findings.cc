#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/causes.h"
#include "report/findings.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::ErrorCount;
using stats::Finding;
using stats::TestRecord;

constexpr double kReached = 0.9;
constexpr double kClosed = 0.01;
constexpr double kBusySecond = 12;  // operations a second from which an empty second is no chance (e^-12)

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

double count_of(const std::vector<ErrorCount>& counts, std::string_view kind) {
  for (const ErrorCount& entry : counts) {
    if (entry.kind == kind) return number(entry.count);
  }
  return 0;
}

// Requests of all steps that were answered by a status in [first, last].
double steps_with(const TestRecord& test, int first, int last) {
  double count = 0;
  for (const stats::StepRecord& step : test.steps) {
    for (const auto& [status, times] : step.statuses)
      count += status >= first && status <= last ? number(times) : 0;
  }
  return count;
}

double requests(const TestRecord& test) {
  double count = 0;
  for (const stats::StepRecord& step : test.steps) count += number(step.count);
  return count > 0 ? count : number(completed(test));
}

double detail(const TestRecord& test, const std::string& key) {
  const auto found = test.details.find(key);
  return found == test.details.end() ? 0 : parse_double(found->second).value_or(0);
}

// Collects the findings of one test.
class TestFindings {
 public:
  TestFindings(const TestRecord& test, const stats::Load& load, std::vector<Finding>& out)
      : test_(test), load_(load), out_(out) {}

  void all() {
    generator();
    concurrency();
    samples();
    answers();
    connections();
    layers();
    empty_seconds();
  }

 private:
  void add(const char* id, const char* severity, std::string_view summary,
           std::map<std::string, double> evidence) {
    out_.push_back({id,
                    severity,
                    fmt::format("{}: {}", test_.name, summary),
                    std::move(evidence),
                    {{"test", test_.name},
                     {"target", test_.target},
                     {"action", test_.action},
                     {"concurrency", fmt::format("{}", test_.concurrency)}}});
  }

  void generator() {
    if (!test_.checks.client_bound) return;
    add("generator-bound", "warning",
        fmt::format("the generator was the limit ({:.0f}% of a core, {:.1f}% of the time without one): the "
                    "figures show "
                    "it, not the server",
                    test_.checks.client_cpu * 100, test_.checks.run_delay_share * 100),
        {{"client_cpu", test_.checks.client_cpu}, {"run_delay_share", test_.checks.run_delay_share}});
  }

  // Only a closed loop asks for a concurrency, and only a run much longer than one wave can keep it up.
  void concurrency() {
    const double asked = test_.concurrency;
    const double reached = test_.checks.concurrency_reached;
    const bool long_enough = number(completed(test_)) >= 5 * asked;
    if (test_.open_loop || load_.mode == "open" || !long_enough || reached <= 0 ||
        reached >= kReached * asked)
      return;
    add("concurrency-not-reached", "warning",
        fmt::format("{:.3g} operations were in progress where {} were asked for", reached, test_.concurrency),
        {{"asked", asked}, {"reached", reached}});
  }

  void samples() {
    const auto& unsupported = test_.latency_s.unsupported;
    const bool serious = std::ranges::any_of(unsupported, [](const std::string& p) { return p.size() <= 3; });
    if (!serious) return;
    add("too-few-samples", "info",
        fmt::format("{} good operations are too few for {}", test_.latency_s.count, join(unsupported, ", ")),
        {{"samples", number(test_.latency_s.count)}});
  }

  void answers() {
    const double throttled = std::max(count_of(test_.errors, "throttled"), steps_with(test_, 429, 429));
    if (throttled > 0) {
      add("throttled", "warning",
          fmt::format("{:.0f} requests were answered 429: the registry limits their rate", throttled),
          {{"count", throttled}, {"share", throttled / requests(test_)}});
    }
    const double redirects = steps_with(test_, 300, 399);
    if (redirects > 0) {
      add("redirects", "info",
          fmt::format("{:.0f} requests were redirected: what they cost is in the figures", redirects),
          {{"count", redirects}, {"share", redirects / requests(test_)}});
    }
    const double retries = count_of(test_.notes, "retried") + count_of(test_.notes, "resumed");
    if (retries > 0) {
      add("retries", "warning", fmt::format("{:.0f} requests were tried again or resumed", retries),
          {{"count", retries}, {"share", retries / requests(test_)}});
    }
    const double chunks = std::max(count_of(test_.notes, "range_mismatch"), steps_with(test_, 416, 416));
    if (chunks > 0) {
      add("chunks-refused", "warning",
          fmt::format("{:.0f} chunks were refused, or answered with another range", chunks),
          {{"count", chunks}, {"share", chunks / requests(test_)}});
    }
  }

  void connections() {
    const stats::Connections& c = test_.connections;
    const double all = requests(test_);
    if (number(c.reconnected) <= kClosed * all) return;
    add("connections-closed", "info",
        fmt::format("{} connections were opened in place of closed ones, one for {:.3g} requests",
                    c.reconnected, all / number(c.reconnected)),
        {{"count", number(c.reconnected)}, {"share", number(c.reconnected) / all}});
  }

  void layers() {
    const double reused = detail(test_, "layers_reused");
    const double found = detail(test_, "layers_found");
    if (reused > 0 && found < reused) {
      add("reupload", "warning",
          fmt::format("{:.0f} of {:.0f} layers that the registry already held had to be sent again: it "
                      "doesn't say that "
                      "they exist",
                      reused - found, reused),
          {{"count", reused - found}, {"share", (reused - found) / reused}});
    }
    const double missed = count_of(test_.notes, "mount_missed");
    if (missed > 0) {
      add("mounts-refused", "info",
          fmt::format("{:.0f} mounts of layers from other repositories were refused", missed),
          {{"count", missed}, {"share", missed / std::max(missed, mounts())}});
    }
  }

  double mounts() const {
    for (const stats::StepRecord& step : test_.steps) {
      if (step.name == "mount POST") return number(step.count);
    }
    return 0;
  }

  void empty_seconds() {
    const auto& series = test_.series;
    if (series.size() < 5) return;
    std::vector<std::uint64_t> ends;
    for (const stats::SeriesPoint& point : series) ends.push_back(point.ok + point.failed);
    std::vector<std::uint64_t> sorted = ends;
    std::ranges::sort(sorted);
    if (number(sorted[sorted.size() / 2]) < kBusySecond) return;
    double empty = 0;
    double longest = 0;
    double run = 0;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {  // the last one may be cut short
      run = ends[i] == 0 ? run + 1 : 0;
      empty += ends[i] == 0 ? 1 : 0;
      longest = std::max(longest, run);
    }
    if (empty == 0) return;
    add("stalls", "warning",
        fmt::format("in {:.0f} of {} seconds no operation ended, {:.0f} of them in a row", empty, ends.size(),
                    longest),
        {{"seconds", empty}, {"longest_s", longest}});
  }

  const TestRecord& test_;
  const stats::Load& load_;
  std::vector<Finding>& out_;
};

}  // namespace

std::vector<Finding> record_findings(const stats::Record& record) {
  std::vector<Finding> out;
  for (const TestRecord& test : record.tests) TestFindings(test, record.load, out).all();
  name_causes(out);
  return out;
}

}  // namespace plimsoll::report
