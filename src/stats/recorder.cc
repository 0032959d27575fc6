#include "stats/recorder.h"

#include <algorithm>
#include <utility>

namespace plimsoll::stats {
namespace {

template <class Named>
std::size_t index_of(std::vector<Named>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.emplace_back();
  all.back().name = name;
  return all.size() - 1;
}

void add(Bytes& into, const Bytes& more) {
  into.sent += more.sent;
  into.received += more.received;
  into.body_sent += more.body_sent;
  into.body_received += more.body_received;
}

double nanos(Nanos time) {
  return static_cast<double>(time.count());
}

}  // namespace

void Recorder::Occurrences::explain(Sample given) {
  if (sampled) return;
  sampled = true;
  sample = std::move(given);
}

void Recorder::Occurrences::merge(const Occurrences& other) {
  if (count == 0) first = other.first;
  count += other.count;
  if (other.sampled) explain(other.sample);
}

StepId Recorder::step_id(std::string_view name) {
  return static_cast<StepId>(index_of(steps_, name));
}
PartId Recorder::part_id(std::string_view name) {
  return static_cast<PartId>(index_of(parts_, name));
}
MixId Recorder::mix_id(std::string_view name) {
  return static_cast<MixId>(index_of(mix_, name));
}

void Recorder::reset(Instant measure_start) {
  start_ = integrated_ = measure_start;
  end_ = kNever;
  operations_ = Operations();
  operations_.started = in_progress_;
  drained_ = 0;
  in_progress_area_ = time_in_progress_ = 0;
  for (Distribution* one : {&latency_, &service_, &failed_, &aborted_age_, &lag_}) one->reset();
  service_apart_ = false;
  statuses_.reset();
  errors_ = {};
  notes_ = {};
  for (auto& step : steps_) {
    step.count = 0;
    step.statuses.reset();
    step.latency.reset();
    step.ttfb.reset();
    step.bytes = Bytes();
  }
  for (auto& part : parts_) part.latency.reset();
  for (auto& ingredient : mix_) ingredient.count = 0;
  reused_ = 0;
  bytes_ = Bytes();
  series_.reset(measure_start);
}

void Recorder::end(Instant measure_end) {
  end_ = measure_end;
}

void Recorder::part_service() {
  if (service_apart_) return;
  service_apart_ = true;
  service_ = latency_;
}

void Recorder::integrate(Instant until) {
  until = std::min(until, end_);
  if (until <= integrated_) return;
  in_progress_area_ += static_cast<double>(in_progress_) * nanos(until - integrated_);
  integrated_ = until;
}

void Recorder::start(Instant sent) {
  integrate(sent);
  ++operations_.started;
  ++in_progress_;
}

void Recorder::left(Instant at) {
  integrate(at);
  if (in_progress_ > 0) --in_progress_;
}

void Recorder::add_time_in_progress(Instant from, Instant to) {
  from = std::max(from, start_);
  to = std::min(to, end_);
  if (from < to) time_in_progress_ += nanos(to - from);
}

void Recorder::finish(const OperationOutcome& outcome) {
  left(outcome.done);
  const Nanos latency = outcome.done - outcome.due;
  const Nanos service = outcome.done - outcome.sent;
  const bool in_measure = outcome.done <= end_;
  statuses_.count(outcome.last_status);
  add_time_in_progress(outcome.sent, outcome.done);
  if (!in_measure) ++drained_;
  if (outcome.error) {
    ++operations_.failed;
    failed_.record(latency);
    Occurrences& error = errors_[static_cast<std::size_t>(outcome.error->kind)];
    if (error.count++ == 0) error.first = *outcome.error;
    if (in_measure) series_.failed(outcome.done);
    return;
  }
  ++operations_.ok;
  if (outcome.sent != outcome.due) part_service();
  latency_.record(latency);
  if (service_apart_) service_.record(service);
  if (outcome.part) parts_[static_cast<std::size_t>(*outcome.part)].latency.record(latency);
  if (in_measure) series_.good(outcome.done, latency);
}

void Recorder::abort(Instant due, Instant sent, Instant at) {
  left(at);
  ++operations_.aborted;
  aborted_age_.record(at - due);
  add_time_in_progress(sent, at);
}

void Recorder::step(StepId id, const StepOutcome& outcome) {
  Step& step = steps_[static_cast<std::size_t>(id)];
  ++step.count;
  step.statuses.count(outcome.status);
  if (outcome.status != 0) step.latency.record(outcome.done - outcome.sent);
  if (outcome.first_byte) step.ttfb.record(*outcome.first_byte - outcome.sent);
  add(step.bytes, outcome.bytes);
  bytes(outcome.bytes, outcome.sent, outcome.done);
}

void Recorder::bytes(const Bytes& bytes, Instant from, Instant to) {
  add(bytes_, bytes);
  if (from < end_) series_.bytes(from, std::min(to, end_), bytes.sent + bytes.received);
}

void Recorder::connection_opened(Nanos connect, std::optional<Nanos> tls, bool reconnected) {
  ++opened_;
  if (reconnected) ++reconnected_;
  connect_.record(connect);
  if (tls) tls_.record(*tls);
}

void Recorder::merge(const Recorder& other) {
  if (start_ == Instant()) start_ = other.start_;
  if (end_ == kNever) end_ = other.end_;
  operations_.started += other.operations_.started;
  operations_.ok += other.operations_.ok;
  operations_.failed += other.operations_.failed;
  operations_.aborted += other.operations_.aborted;
  in_progress_ += other.in_progress_;
  drained_ += other.drained_;
  in_progress_area_ += other.in_progress_area_;
  time_in_progress_ += other.time_in_progress_;
  if (service_apart_ || other.service_apart_) {
    part_service();
    service_.merge(other.service());
  }
  latency_.merge(other.latency_);
  failed_.merge(other.failed_);
  aborted_age_.merge(other.aborted_age_);
  lag_.merge(other.lag_);
  statuses_.merge(other.statuses_);
  for (std::size_t i = 0; i < kErrorKinds; ++i) errors_[i].merge(other.errors_[i]);
  for (std::size_t i = 0; i < kNoteKinds; ++i) notes_[i].merge(other.notes_[i]);
  for (const Step& theirs : other.steps_) {
    Step& ours = steps_[index_of(steps_, theirs.name)];
    ours.count += theirs.count;
    ours.statuses.merge(theirs.statuses);
    ours.latency.merge(theirs.latency);
    ours.ttfb.merge(theirs.ttfb);
    add(ours.bytes, theirs.bytes);
  }
  for (const Part& theirs : other.parts_) parts_[index_of(parts_, theirs.name)].latency.merge(theirs.latency);
  for (const Ingredient& theirs : other.mix_) mix_[index_of(mix_, theirs.name)].count += theirs.count;
  opened_ += other.opened_;
  reused_ += other.reused_;
  reconnected_ += other.reconnected_;
  connect_.merge(other.connect_);
  tls_.merge(other.tls_);
  add(bytes_, other.bytes_);
  series_.merge(other.series_);
}

LiveView Recorder::live(Instant now) const {
  LiveView view;
  view.operations = operations_;
  view.in_progress = in_progress_;
  view.bytes = bytes_;
  view.last_second = series_.last_complete(now);
  view.rate_per_s =
      static_cast<double>(view.last_second.ok + view.last_second.failed) / seconds(series_.width());
  view.bytes_per_s = static_cast<double>(view.last_second.bytes) / seconds(series_.width());
  return view;
}

}  // namespace plimsoll::stats
