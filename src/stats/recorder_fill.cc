// From a recorder to the test's entry in the result record.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "stats/recorder.h"

namespace plimsoll::stats {
namespace {

template <class Kind, class Occurrences>
std::vector<ErrorCount> counts(const Occurrences& all) {
  std::vector<ErrorCount> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].count == 0) continue;
    const auto kind = static_cast<Kind>(i);
    ErrorCount& one = out.emplace_back(ErrorCount{std::string(name(kind)), all[i].count, all[i].sample});
    if (!one.sample.text.empty()) continue;
    if constexpr (std::is_same_v<Kind, ErrorKind>) {
      one.sample.text = describe(all[i].first);
    } else {
      one.sample.text = one.kind;
    }
  }
  return out;
}

void add_histogram(TestRecord& test, const char* name, const Distribution& distribution) {
  if (distribution.count() > 0) test.histograms[name] = distribution.histogram().encode_v2();
}

}  // namespace

void Recorder::fill_counts(TestRecord& test) const {
  test.operations = operations_;
  test.bytes = bytes_;
  test.latency_s = latency_.summary();
  test.service_s = service().summary();
  test.failed_latency_s = failed_.summary();
  test.aborted_age_s = aborted_age_.summary();
  test.statuses = statuses_.by_code();
  test.errors = counts<ErrorKind>(errors_);
  test.notes = counts<NoteKind>(notes_);
  test.connections = {opened_, reused_, reconnected_, connect_.summary(), tls_.summary()};
}

void Recorder::fill_steps(TestRecord& test) const {
  test.steps.clear();
  for (const Step& step : steps_) {
    if (step.count == 0) continue;
    test.steps.push_back({step.name, step.count, step.statuses.by_code(), step.latency.summary(),
                          step.ttfb.summary(), step.bytes});
  }
  test.parts.clear();
  for (const Part& part : parts_) test.parts.emplace_back(part.name, part.latency.summary());
  test.mix.clear();
  for (const Ingredient& ingredient : mix_) test.mix.emplace_back(ingredient.name, ingredient.count);
}

// N is integrated over the starts and ends as they came; X * R is summed up apart from it, from the times that each
// operation reported. They differ where an operation was lost, counted twice, or timed from elsewhere.
void Recorder::fill_checks(Checks& checks, double measure_seconds) const {
  if (measure_seconds <= 0) return;
  const double n = in_progress_area_ * 1e-9 / measure_seconds;
  const double x_times_r = time_in_progress_ * 1e-9 / measure_seconds;
  checks.concurrency_reached = n;
  checks.littles_law_error = n > 0 ? std::abs(n - x_times_r) / n : 0;
  const LatencySummary lag = lag_.summary();
  checks.schedule_lag_p50_s = lag.p50;
  checks.schedule_lag_p99_s = lag.p99;
  checks.schedule_lag_p999_s = lag.p999;
}

void Recorder::fill(TestRecord& test, double measure_seconds) const {
  fill_counts(test);
  fill_steps(test);
  fill_checks(test.checks, measure_seconds);
  const std::uint64_t completed = operations_.ok + operations_.failed - drained_;
  test.rate_per_s = measure_seconds > 0 ? static_cast<double>(completed) / measure_seconds : 0;
  test.histograms.clear();
  add_histogram(test, "latency", latency_);
  add_histogram(test, "service", service());
  add_histogram(test, "failed_latency", failed_);
  test.series = series_.points(std::min(end_, start_ + from_seconds(measure_seconds)));
}

}  // namespace plimsoll::stats
