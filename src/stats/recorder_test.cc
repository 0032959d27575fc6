#include "stats/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/random.h"

namespace {
std::atomic<std::size_t> allocations{0};  // by this program's operator new, to see that recording has none
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace plimsoll::stats {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{Nanos(50'000'000'000)};

OperationOutcome good(Instant sent, Nanos latency) {
  return {.due = sent, .sent = sent, .done = sent + latency, .error = {}, .last_status = 200, .part = {}};
}

OperationOutcome bad(Instant sent, Nanos latency, Error error, int status = 0) {
  return {
      .due = sent, .sent = sent, .done = sent + latency, .error = error, .last_status = status, .part = {}};
}

// One worker, back to back: n operations of 10 ms, every tenth failed.
void run(Recorder& recorder, int n) {
  Instant at = kStart;
  for (int i = 0; i < n; ++i, at += 10ms) {
    recorder.start(at);
    recorder.finish(i % 10 == 9 ? bad(at, 10ms, {ErrorKind::unexpected_status, 500, "blob GET"}, 500)
                                : good(at, 10ms));
  }
}

TEST(Recorder, FillsAnEmptyTest) {
  Recorder recorder;
  recorder.reset(kStart);
  TestRecord test;
  recorder.fill(test, 0);
  EXPECT_EQ(test.operations.started, 0U);
  EXPECT_EQ(test.rate_per_s, 0);
  EXPECT_TRUE(test.series.empty());
  EXPECT_TRUE(test.histograms.empty());
  EXPECT_TRUE(test.errors.empty());
}

TEST(Recorder, KeepsGoodAndFailedApart) {
  Recorder recorder;
  recorder.reset(kStart);
  run(recorder, 200);
  TestRecord test;
  recorder.fill(test, 2);
  EXPECT_EQ(test.operations.started, 200U);
  EXPECT_EQ(test.operations.ok, 180U);
  EXPECT_EQ(test.operations.failed, 20U);
  EXPECT_EQ(test.rate_per_s, 100) << "good and failed ones are completed";
  EXPECT_EQ(test.latency_s.count, 180U);
  EXPECT_EQ(test.failed_latency_s.count, 20U);
  EXPECT_DOUBLE_EQ(test.failed_latency_s.p50, 0.01);
  EXPECT_EQ(test.statuses, (std::map<int, std::uint64_t>{{200, 180}, {500, 20}}));
  ASSERT_EQ(test.errors.size(), 1U);
  EXPECT_EQ(test.errors[0].kind, "unexpected_status");
  EXPECT_EQ(test.errors[0].count, 20U);
  EXPECT_EQ(test.errors[0].sample.text, "unexpected_status: blob GET (status 500)");
  ASSERT_EQ(test.series.size(), 2U);
  EXPECT_EQ(test.series[0].ok + test.series[1].ok, 180U);
  EXPECT_NEAR(test.checks.concurrency_reached, 1, 1e-9);
  EXPECT_NEAR(test.checks.littles_law_error, 0, 1e-9);
  const auto histogram = Histogram::decode_v2(test.histograms.at("latency"));
  ASSERT_TRUE(histogram);
  EXPECT_EQ(histogram->count(), 180U);
}

TEST(Recorder, TimesFromTheDueTimeAndFromTheSend) {
  Recorder recorder;
  recorder.reset(kStart);
  recorder.start(kStart + 300ms);
  recorder.finish({.due = kStart,
                   .sent = kStart + 300ms,
                   .done = kStart + 350ms,
                   .error = {},
                   .last_status = 200,
                   .part = {}});
  recorder.schedule_lag(3ms);
  TestRecord test;
  recorder.fill(test, 1);
  EXPECT_DOUBLE_EQ(test.latency_s.max, 0.35);
  EXPECT_DOUBLE_EQ(test.service_s.max, 0.05);
  EXPECT_DOUBLE_EQ(test.checks.schedule_lag_p99_s, 0.003);
  EXPECT_NEAR(test.checks.concurrency_reached, 0.05, 1e-12);
}

// Service time is kept apart from latency only when an operation first began late; the earlier ones are in both.
TEST(Recorder, ServiceTimesOfPunctualAndOfLateOperations) {
  const auto record = [](Recorder& recorder, Nanos late) {
    recorder.start(kStart + late);
    recorder.finish({.due = kStart,
                     .sent = kStart + late,
                     .done = kStart + late + 10ms,
                     .error = {},
                     .last_status = 200,
                     .part = {}});
  };
  Recorder punctual;
  Recorder mixed;
  for (Recorder* one : {&punctual, &mixed}) {
    one->reset(kStart);
    record(*one, 0ms);
  }
  record(mixed, 100ms);
  for (const auto& [first, second] : {std::pair(&punctual, &mixed), std::pair(&mixed, &punctual)}) {
    Recorder sum = *first;
    sum.merge(*second);
    TestRecord test;
    sum.fill(test, 1);
    EXPECT_EQ(test.latency_s.count, 3U);
    EXPECT_DOUBLE_EQ(test.latency_s.max, 0.11);
    EXPECT_EQ(test.service_s.count, 3U);
    EXPECT_DOUBLE_EQ(test.service_s.max, 0.01);
  }
  mixed.reset(kStart);
  record(mixed, 0ms);
  TestRecord test;
  mixed.fill(test, 1);
  EXPECT_EQ(test.service_s.count, 1U);
}

TEST(Recorder, CountsWhatTheEndCutOff) {
  Recorder recorder;
  recorder.reset(kStart);
  for (int i = 0; i < 3; ++i) recorder.start(kStart);
  recorder.finish(good(kStart, 900ms));
  recorder.end(kStart + 1s);
  recorder.finish(good(kStart, 1500ms));
  recorder.abort(kStart, kStart, kStart + 3s);
  TestRecord test;
  recorder.fill(test, 1);
  EXPECT_EQ(test.operations.started, 3U);
  EXPECT_EQ(test.operations.ok, 2U);
  EXPECT_EQ(test.operations.aborted, 1U);
  EXPECT_DOUBLE_EQ(test.aborted_age_s.max, 3);
  EXPECT_EQ(test.latency_s.count, 2U);
  EXPECT_EQ(test.rate_per_s, 1) << "what completed in the drain is in no rate";
  ASSERT_EQ(test.series.size(), 1U);
  EXPECT_EQ(test.series[0].ok, 1U);
  EXPECT_NEAR(test.checks.concurrency_reached, 2.9, 1e-9);
  EXPECT_NEAR(test.checks.littles_law_error, 0, 1e-9);
}

TEST(Recorder, CountsWhatIsInProgressUpToAnEndThatIsKnownAhead) {
  Recorder recorder;
  recorder.reset(kStart);
  recorder.end(kStart + 1s);
  for (int i = 0; i < 2; ++i) recorder.start(kStart);
  recorder.finish(good(kStart, 500ms));
  recorder.finish(good(kStart, 1500ms));
  TestRecord test;
  recorder.fill(test, 1);
  EXPECT_NEAR(test.checks.concurrency_reached, 1.5, 1e-9);
  EXPECT_NEAR(test.checks.littles_law_error, 0, 1e-9);
}

TEST(Recorder, ForgetsTheWarmUpButNotWhatIsInProgress) {
  Recorder recorder;
  const StepId get = recorder.step_id("blob GET");
  recorder.reset(kStart - 10s);
  recorder.start(kStart - 5s);
  recorder.finish(bad(kStart - 5s, 1s, {ErrorKind::reset, ECONNRESET, ""}));
  recorder.step(
      get,
      {.status = 200, .sent = kStart - 5s, .first_byte = {}, .done = kStart - 4s, .bytes = {1, 2, 0, 0}});
  recorder.start(kStart - 1s);
  recorder.reset(kStart);
  recorder.finish(good(kStart - 1s, 2s));
  TestRecord test;
  recorder.fill(test, 2);
  EXPECT_EQ(test.operations.started, 1U);
  EXPECT_EQ(test.operations.ok, 1U);
  EXPECT_EQ(test.operations.failed, 0U);
  EXPECT_TRUE(test.errors.empty());
  EXPECT_TRUE(test.steps.empty());
  EXPECT_EQ(test.bytes.sent, 0U);
  EXPECT_EQ(recorder.step_id("blob GET"), get);
  EXPECT_NEAR(test.checks.concurrency_reached, 0.5, 1e-9);
}

TEST(Recorder, KeepsStepsPartsAndMixByName) {
  Recorder recorder;
  const StepId head = recorder.step_id("manifest HEAD");
  const StepId get = recorder.step_id("blob GET");
  const PartId warm = recorder.part_id("warm");
  const MixId small = recorder.mix_id("1MB");
  EXPECT_NE(head, get);
  recorder.reset(kStart);
  recorder.start(kStart);
  recorder.step(head, {.status = 404,
                       .sent = kStart,
                       .first_byte = kStart + 2ms,
                       .done = kStart + 3ms,
                       .bytes = {100, 200, 0, 50}});
  recorder.step(
      get, {.status = 0, .sent = kStart, .first_byte = {}, .done = kStart + 9ms, .bytes = {70, 0, 0, 0}});
  auto outcome = good(kStart, 9ms);
  outcome.part = warm;
  recorder.finish(outcome);
  recorder.mix(small, 3);
  TestRecord test;
  recorder.fill(test, 1);
  ASSERT_EQ(test.steps.size(), 2U);
  EXPECT_EQ(test.steps[0].name, "manifest HEAD");
  EXPECT_EQ(test.steps[0].statuses, (std::map<int, std::uint64_t>{{404, 1}}));
  EXPECT_DOUBLE_EQ(test.steps[0].ttfb_s.p50, 0.002);
  EXPECT_DOUBLE_EQ(test.steps[0].latency_s.p50, 0.003);
  EXPECT_EQ(test.steps[1].count, 1U);
  EXPECT_EQ(test.steps[1].latency_s.count, 0U) << "no answer, no latency";
  EXPECT_EQ(test.bytes.sent, 170U);
  EXPECT_EQ(test.bytes.body_received, 50U);
  ASSERT_EQ(test.parts.size(), 1U);
  EXPECT_EQ(test.parts[0].first, "warm");
  EXPECT_DOUBLE_EQ(test.parts[0].second.p50, 0.009);
  EXPECT_EQ(test.mix, (std::vector<std::pair<std::string, std::uint64_t>>{{"1MB", 3}}));
  EXPECT_EQ(test.series.at(0).bytes, 370U);
}

TEST(Recorder, KeepsTheFirstSampleOfAKind) {
  Recorder recorder;
  recorder.reset(kStart);
  EXPECT_TRUE(recorder.wants_sample(ErrorKind::timeout));
  recorder.sample(ErrorKind::timeout, {"timeout: no progress", "127.0.0.1:5000", "GET /v2/"});
  EXPECT_FALSE(recorder.wants_sample(ErrorKind::timeout));
  recorder.sample(ErrorKind::timeout, {"another", "", ""});
  recorder.start(kStart);
  recorder.finish(bad(kStart, 1s, {ErrorKind::timeout, 0, ""}));
  recorder.note(NoteKind::resumed);
  recorder.note(NoteKind::resumed);
  TestRecord test;
  recorder.fill(test, 1);
  ASSERT_EQ(test.errors.size(), 1U);
  EXPECT_EQ(test.errors[0].sample.text, "timeout: no progress");
  EXPECT_EQ(test.errors[0].sample.request, "GET /v2/");
  EXPECT_TRUE(test.statuses.empty()) << "no answer has no status";
  ASSERT_EQ(test.notes.size(), 1U);
  EXPECT_EQ(test.notes[0].kind, "resumed");
  EXPECT_EQ(test.notes[0].count, 2U);
}

TEST(Recorder, CountsConnections) {
  Recorder recorder;
  recorder.reset(kStart);
  recorder.connection_opened(1ms, {}, false);
  recorder.connection_opened(3ms, 8ms, true);
  recorder.connection_reused();
  TestRecord test;
  recorder.fill(test, 1);
  EXPECT_EQ(test.connections.opened, 2U);
  EXPECT_EQ(test.connections.reused, 1U);
  EXPECT_EQ(test.connections.reconnected, 1U);
  EXPECT_EQ(test.connections.connect_s.count, 2U);
  EXPECT_DOUBLE_EQ(test.connections.tls_s.max, 0.008);
}

TEST(Recorder, MergedThreadsAreAsOne) {
  Recorder a;
  Recorder b;
  Recorder both;
  const StepId b_only = b.step_id("blob HEAD");
  const StepId in_a = a.step_id("blob GET");
  const StepId in_b = b.step_id("blob GET");
  const StepId in_both = both.step_id("blob GET");
  const StepId both_other = both.step_id("blob HEAD");
  for (Recorder* one : {&a, &b, &both}) one->reset(kStart);
  Random random(9);
  for (int i = 0; i < 4000; ++i) {
    const Instant sent = kStart + i * 1ms;
    const Nanos latency(static_cast<std::int64_t>(random.uniform() * 1e6));
    const bool first = random.below(2) == 0;
    const auto outcome =
        random.below(50) == 0 ? bad(sent, latency, {ErrorKind::reset, 0, ""}) : good(sent, latency);
    const StepOutcome step{.status = 200,
                           .sent = sent,
                           .first_byte = sent + latency / 2,
                           .done = sent + latency,
                           .bytes = {10, 20, 0, 15}};
    for (Recorder* one : {first ? &a : &b, &both}) {
      one->start(sent);
      one->finish(outcome);
    }
    (first ? a : b).step(first ? in_a : in_b, step);
    both.step(in_both, step);
    if (first) continue;
    b.step(b_only, step);
    both.step(both_other, step);
  }
  Recorder total;
  for (Recorder* one : {&a, &b, &both}) one->end(kStart + 4s);
  total.merge(a);
  total.merge(b);
  TestRecord merged;
  TestRecord expected;
  total.fill(merged, 4);
  both.fill(expected, 4);
  EXPECT_EQ(merged.operations.ok, expected.operations.ok);
  EXPECT_EQ(merged.rate_per_s, expected.rate_per_s);
  EXPECT_EQ(merged.latency_s.p99, expected.latency_s.p99);
  EXPECT_EQ(merged.latency_s.p9999, expected.latency_s.p9999);
  EXPECT_EQ(merged.histograms, expected.histograms);
  EXPECT_EQ(merged.statuses, expected.statuses);
  EXPECT_EQ(merged.bytes.received, expected.bytes.received);
  EXPECT_NEAR(merged.checks.concurrency_reached, expected.checks.concurrency_reached, 1e-9);
  ASSERT_EQ(merged.steps.size(), 2U);
  EXPECT_EQ(merged.steps[0].name, "blob GET");
  EXPECT_EQ(merged.steps[0].ttfb_s.p99, expected.steps[0].ttfb_s.p99);
  EXPECT_EQ(merged.steps[1].count, expected.steps[1].count);
  ASSERT_EQ(merged.series.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(merged.series[i].ok, expected.series[i].ok);
    EXPECT_EQ(merged.series[i].p50_s, expected.series[i].p50_s);
  }
}

TEST(Recorder, IsExactUpToItsSamplesAndNearBeyond) {
  Distribution few;
  for (std::size_t i = 1; i <= Distribution::kExactSamples; ++i) few.record(Nanos(1'000'000 + i));
  EXPECT_TRUE(few.exact());
  const std::size_t middle = Distribution::kExactSamples / 2;
  EXPECT_DOUBLE_EQ(few.summary().p50, seconds(Nanos(1'000'000 + middle)));
  Distribution more = few;
  more.record(5s);
  EXPECT_FALSE(more.exact());
  EXPECT_NEAR(more.summary().p50, few.summary().p50, few.summary().p50 * 1e-3);
  EXPECT_DOUBLE_EQ(more.summary().max, 5);
  Distribution merged = few;
  merged.merge(few);
  EXPECT_FALSE(merged.exact());
  EXPECT_EQ(merged.count(), 2 * Distribution::kExactSamples);
  merged.reset();
  EXPECT_TRUE(merged.exact());
  EXPECT_EQ(merged.summary().count, 0U);
}

TEST(Recorder, ShowsItsProgress) {
  Recorder recorder;
  recorder.reset(kStart);
  run(recorder, 150);
  recorder.start(kStart + 1500ms);
  const LiveView view = recorder.live(kStart + 1600ms);
  EXPECT_EQ(view.operations.ok, 135U);
  EXPECT_EQ(view.in_progress, 1U);
  EXPECT_EQ(view.last_second.ok + view.last_second.failed, 100U);
  EXPECT_EQ(view.rate_per_s, 100);
  EXPECT_NEAR(view.last_second.p50_s, 0.01, 1e-4);
}

TEST(Recorder, AllocatesNothingAnOperation) {
  Recorder recorder;
  const StepId get = recorder.step_id("blob GET");
  recorder.reset(kStart);
  const std::size_t before = allocations;
  for (int i = 0; i < 100'000; ++i) {
    const Instant sent = kStart + i * 5us;
    recorder.start(sent);
    recorder.step(
        get,
        {.status = 200, .sent = sent, .first_byte = sent + 50us, .done = sent + 60us, .bytes = {1, 1, 1, 1}});
    recorder.connection_reused();
    recorder.finish(i % 7 == 0 ? bad(sent, 60us, {ErrorKind::timeout, 0, ""}) : good(sent, 60us));
  }
  EXPECT_EQ(allocations - before, 0U);
}

}  // namespace
}  // namespace plimsoll::stats
