#include "load/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "load/engine.h"
#include "load/gate.h"
#include "stats/thread_usage.h"

namespace plimsoll::load {
namespace {

std::string_view words(Phase phase) {
  switch (phase) {
    case Phase::set_up:
      return "set up";
    case Phase::warm_up:
      return "warm up";
    case Phase::measure:
      return "measure";
    case Phase::drain:
      return "drain";
    case Phase::clean_up:
      return "clean up";
    case Phase::over:
      break;
  }
  return "over";
}

Progress progress_of(const Gate& gate, const Plan& plan) {
  Progress sum;
  const Phase phase = gate.phase();
  sum.phase = words(phase);
  // What is over lasted as long as it was measured.
  sum.elapsed_s = phase == Phase::over
                      ? std::max(0.0, seconds(gate.last_completion() - gate.phase_start(Phase::measure)))
                      : seconds(now() - gate.phase_start(phase));
  sum.requests = plan.requests;
  sum.duration_s = seconds(plan.duration);
  for (const Snapshot& snapshot : gate.snapshots()) {
    sum.ok += snapshot.live.operations.ok;
    sum.failed += snapshot.live.operations.failed;
    sum.in_progress += snapshot.live.in_progress;
    sum.bytes += snapshot.live.bytes.sent + snapshot.live.bytes.received;
    sum.rate_per_s += snapshot.live.rate_per_s;
    sum.bytes_per_s += snapshot.live.bytes_per_s;
    for (std::size_t i = 0; i < sum.statuses.size(); ++i) sum.statuses[i] += snapshot.statuses[i];
    for (std::size_t i = 0; i < sum.errors.size(); ++i) sum.errors[i] += snapshot.errors[i];
    sum.last_second.merge(snapshot.last_second);
    sum.whole_run.merge(snapshot.whole_run);
  }
  return sum;
}

// The phases' lengths; those that a run never came to are 0.
stats::Phases phases_of(const Gate& gate, const Plan& plan) {
  const Instant set_up = gate.phase_start(Phase::set_up);
  const Instant warm_up = gate.phase_start(Phase::warm_up);
  const Instant measure = gate.phase_start(Phase::measure);
  const Instant clean_up = gate.phase_start(Phase::clean_up);
  const Instant end = plan.duration > Nanos{} ? std::min(measure + plan.duration, gate.last_completion())
                                              : gate.last_completion();
  stats::Phases phases;
  phases.setup = seconds((warm_up == Instant{} ? measure : warm_up) - set_up);
  phases.warmup = warm_up == Instant{} ? 0 : seconds(measure - warm_up);
  phases.measure = seconds(std::max(Nanos{}, end - measure));
  phases.drain = seconds(std::max(Nanos{}, gate.last_completion() - std::max(end, measure)));
  phases.cleanup = seconds(gate.phase_start(Phase::over) - clean_up);
  return phases;
}

stats::OpenLoop open_loop_of(const std::vector<std::unique_ptr<Engine>>& engines,
                             const stats::TestRecord& test) {
  stats::OpenLoop sum;
  const double measured = test.phases_s.measure;
  if (measured <= 0) return sum;
  for (const auto& engine : engines) {
    const OpenLoopCounts& counts = engine->open_loop();
    sum.offered_per_s += static_cast<double>(counts.offered) / measured;
    sum.sent_per_s += static_cast<double>(counts.sent) / measured;
    sum.backlog_max += counts.backlog_max;
    sum.backlog_age_max_s = std::max(sum.backlog_age_max_s, seconds(counts.backlog_age_max));
  }
  sum.completed_per_s = test.rate_per_s;
  return sum;
}

// Says in words which self-checks failed.
void judge(const Plan& plan, stats::TestRecord& test) {
  stats::Checks& checks = test.checks;
  const std::uint64_t completed = test.operations.ok + test.operations.failed;
  if (completed == 0) return;
  if (checks.client_bound) {
    checks.failed.push_back(
        fmt::format("the generator was the limit, not the server: an engine thread used {:.0f}% of a core "
                    "and waited for one "
                    "{:.0f}% of the time (try --threads, or another machine for the load)",
                    checks.client_cpu * 100, checks.run_delay_share * 100));
  }
  // Fewer operations than workers say nothing about concurrency, nor do a handful.
  const bool enough = completed >= static_cast<std::uint64_t>(plan.concurrency) * 10;
  if (!plan.rate && enough && checks.concurrency_reached < 0.9 * plan.concurrency) {
    checks.failed.push_back(
        fmt::format("the concurrency asked for was not reached: {:.1f} of {} operations were in "
                    "progress on average",
                    checks.concurrency_reached, plan.concurrency));
  }
  if (enough && checks.littles_law_error > 0.05) {
    checks.failed.push_back(fmt::format("Little's law is off by {:.1f}%: time is lost between operations",
                                        checks.littles_law_error * 100));
  }
}

void watch_until(const std::atomic<int>& running, const Gate& gate, const Plan& plan, const Watch& watch) {
  int turn = 0;
  while (running.load() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (++turn % 10 == 0) watch(progress_of(gate, plan));
  }
}

}  // namespace

Checked<Measured> run(const Plan& plan, Workload& workload, StopSignal& stop, const Watch& watch) {
  Gate gate(plan, watch != nullptr);
  std::vector<std::unique_ptr<Engine>> engines;
  for (int thread = 0; thread < plan.threads; ++thread) {
    engines.push_back(std::make_unique<Engine>(plan, workload, gate, stop, thread));
  }
  std::atomic<int> running = plan.threads;
  {
    std::vector<std::jthread> threads;
    for (const auto& engine : engines) {
      threads.emplace_back([&running, one = engine.get()] {
        one->run();
        --running;
      });
    }
    if (watch) watch_until(running, gate, plan, watch);
  }
  if (watch) {
    for (int thread = 0; thread < plan.threads; ++thread)
      gate.publish(thread, engines[static_cast<std::size_t>(thread)]->recorder(), gate.last_completion());
    watch(progress_of(gate, plan));
  }

  Measured measured;
  measured.setup_failure = gate.failure();
  measured.io = engines.front()->io();
  if (measured.io.empty()) return Refusal{measured.setup_failure};
  measured.interrupted = stop.requested();
  stats::Recorder total;
  for (const auto& engine : engines) total.merge(engine->recorder());
  measured.test.concurrency = plan.concurrency;
  measured.test.phases_s = phases_of(gate, plan);
  total.fill(measured.test, measured.test.phases_s.measure);
  const Nanos phase = gate.last_completion() - gate.phase_start(Phase::measure);
  for (const auto& engine : engines) add_usage(measured.test.checks, engine->usage(), phase);
  judge(plan, measured.test);
  if (plan.keep_samples) {
    for (const auto& engine : engines) measured.samples.push_back(std::move(engine->samples()));
  }
  if (plan.rate) measured.test.open_loop = open_loop_of(engines, measured.test);
  return measured;
}

}  // namespace plimsoll::load
