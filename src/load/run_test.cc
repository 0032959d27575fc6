// Runs with workloads of known length: counts, phases, rates and ends.
#include "load/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;

struct Told {
  std::mutex mutex;
  std::set<std::uint64_t> sequences;
  std::atomic<int> set_up = 0;
  std::atomic<int> cleaned = 0;
};

class SleepSession final : public Session {
 public:
  SleepSession(const Worker& worker, Told& told, Nanos length, bool fail_setup)
      : loop_(worker.loop), told_(told), length_(length), fail_setup_(fail_setup) {}
  net::Task<Checked<void>> set_up() override {
    ++told_.set_up;
    if (fail_setup_) co_return Refusal{"the target is not there"};
    co_return Checked<void>{};
  }
  net::Task<Outcome> operate(std::uint64_t sequence) override {
    {
      const std::lock_guard lock(told_.mutex);
      told_.sequences.insert(sequence);
    }
    co_await loop_.sleep_for(length_);
    Outcome outcome;
    outcome.last_status = 200;
    if (sequence % 10 == 9) outcome.error = Error{ErrorKind::unexpected_status, 500, ""};
    co_return outcome;
  }
  net::Task<void> clean_up() override {
    ++told_.cleaned;
    co_return;
  }

 private:
  net::Loop& loop_;
  Told& told_;
  Nanos length_;
  bool fail_setup_;
};

class SleepWorkload final : public Workload {
 public:
  explicit SleepWorkload(Nanos length, bool fail_setup = false) : length_(length), fail_setup_(fail_setup) {}
  void prepare(stats::Recorder&) override {}
  std::unique_ptr<Session> session(const Worker& worker) override {
    return std::make_unique<SleepSession>(worker, told, length_, fail_setup_);
  }
  Told told;

 private:
  Nanos length_;
  bool fail_setup_;
};

Plan plan_of(int concurrency, std::uint64_t requests, int threads = 1) {
  Plan plan;
  plan.concurrency = concurrency;
  plan.requests = requests;
  plan.threads = threads;
  plan.io = net::IoKind::epoll;
  return plan;
}

TEST(Run, Trap36StartsExactlyAsManyAsAskedFor) {
  for (const auto& [concurrency, requests, threads] :
       {std::tuple(3, 10, 1), {7, 20, 2}, {8, 3, 1}, {1, 1, 1}}) {
    SleepWorkload workload(1ms);
    StopSignal stop;
    const auto measured =
        run(plan_of(concurrency, static_cast<std::uint64_t>(requests), threads), workload, stop, nullptr);
    ASSERT_TRUE(measured.has_value());
    const auto& operations = measured->test.operations;
    EXPECT_EQ(operations.started, static_cast<std::uint64_t>(requests));
    EXPECT_EQ(operations.ok + operations.failed, operations.started);
    EXPECT_EQ(operations.failed, static_cast<std::uint64_t>(requests / 10));
    EXPECT_EQ(workload.told.sequences.size(), static_cast<std::size_t>(requests));
    EXPECT_EQ(*workload.told.sequences.rbegin(), static_cast<std::uint64_t>(requests - 1));
    EXPECT_EQ(workload.told.cleaned, concurrency);
  }
}

TEST(Run, Trap8RatesDivideByTheMeasurePhase) {
  SleepWorkload workload(20ms);
  StopSignal stop;
  Plan plan = plan_of(2, 20);
  plan.warmup = 100ms;
  const auto measured = run(plan, workload, stop, nullptr);
  ASSERT_TRUE(measured.has_value());
  const auto& test = measured->test;
  EXPECT_GE(test.phases_s.warmup, 0.1);
  EXPECT_GE(test.phases_s.measure, 0.2);
  EXPECT_NEAR(test.rate_per_s, 20 / test.phases_s.measure, 0.01);
  // The warm-up's operations are forgotten.
  EXPECT_EQ(test.operations.started, 20U);
}

TEST(Run, EndsAtTheDuration) {
  SleepWorkload workload(10ms);
  StopSignal stop;
  Plan plan = plan_of(2, 0);
  plan.duration = 200ms;
  const auto measured = run(plan, workload, stop, nullptr);
  ASSERT_TRUE(measured.has_value());
  EXPECT_NEAR(measured->test.phases_s.measure, 0.2, 0.01);
  EXPECT_GT(measured->test.operations.started, 2U);
  EXPECT_EQ(measured->test.operations.aborted, 0U);
}

TEST(Run, OpenLoopStartsWhatIsDueAndCountsFromThere) {
  SleepWorkload workload(50ms);
  StopSignal stop;
  Plan plan = plan_of(1, 20);
  plan.rate = 100;
  plan.max_workers = 1;
  const auto measured = run(plan, workload, stop, nullptr);
  ASSERT_TRUE(measured.has_value());
  const auto& test = measured->test;
  EXPECT_EQ(test.operations.started, 20U);
  // Due every 10 ms, done every 50: the last one waited for 19 x 40 ms and took 50 more.
  EXPECT_GE(test.failed_latency_s.max, 0.75);
  EXPECT_LT(test.service_s.p50, 0.2);
  ASSERT_TRUE(test.open_loop.has_value());
  EXPECT_GE(test.open_loop->backlog_max, 10U);
}

TEST(Run, OpenLoopAddsWorkersForABacklog) {
  SleepWorkload workload(50ms);
  StopSignal stop;
  Plan plan = plan_of(1, 20);
  plan.rate = 100;
  plan.max_workers = 20;
  const auto measured = run(plan, workload, stop, nullptr);
  ASSERT_TRUE(measured.has_value());
  EXPECT_LT(measured->test.latency_s.p50, 0.2);
}

TEST(Run, AFailedSetUpIsNoMeasurement) {
  SleepWorkload workload(1ms, true);
  StopSignal stop;
  const auto measured = run(plan_of(3, 10, 2), workload, stop, nullptr);
  ASSERT_TRUE(measured.has_value());
  EXPECT_EQ(measured->setup_failure, "the target is not there");
  EXPECT_EQ(measured->test.operations.started, 0U);
  EXPECT_EQ(workload.told.cleaned, 3);
}

TEST(Run, AStopSignalEndsItAndCleansUp) {
  SleepWorkload workload(5ms);
  StopSignal stop;
  Plan plan = plan_of(2, 0);
  plan.duration = 60s;
  std::jthread later([&stop] {
    std::this_thread::sleep_for(100ms);
    stop.request();
  });
  const auto measured = run(plan, workload, stop, nullptr);
  ASSERT_TRUE(measured.has_value());
  EXPECT_TRUE(measured->interrupted);
  EXPECT_LT(measured->test.phases_s.measure, 10);
  EXPECT_EQ(workload.told.cleaned, 2);
}

TEST(Run, KeepsARowAnOperation) {
  SleepWorkload workload(1ms);
  StopSignal stop;
  Plan plan = plan_of(2, 30, 2);
  plan.keep_samples = true;
  auto measured = run(plan, workload, stop, nullptr);
  ASSERT_TRUE(measured.has_value());
  const auto rows = by_sequence(measured->samples);
  ASSERT_EQ(rows.size(), 30U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].sequence, i);
    EXPECT_EQ(rows[i].error >= 0, i % 10 == 9);
    EXPECT_GE(rows[i].done - rows[i].due, 1ms);
  }
}

TEST(Run, WatchSeesTheRun) {
  SleepWorkload workload(5ms);
  StopSignal stop;
  std::uint64_t most = 0;
  Progress last;
  Plan plan = plan_of(2, 0);
  plan.duration = 900ms;
  const auto measured = run(plan, workload, stop, [&](const Progress& progress) {
    last = progress;
    if (progress.phase == "measure") most = std::max(most, progress.ok);
  });
  ASSERT_TRUE(measured.has_value());
  EXPECT_GT(most, 0U);
  EXPECT_EQ(last.phase, "over");
  EXPECT_EQ(last.ok, measured->test.operations.ok);
  EXPECT_EQ(last.in_progress, 0U);
  EXPECT_EQ(last.whole_run.count(), last.ok);
  EXPECT_NEAR(last.elapsed_s, 0.9, 0.5);
}

}  // namespace
}  // namespace plimsoll::load
