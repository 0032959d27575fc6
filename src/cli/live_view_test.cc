#include "cli/live_view.h"

#include <gtest/gtest.h>

#include <string>

namespace plimsoll::cli {
namespace {

load::Progress some_progress() {
  load::Progress progress;
  progress.phase = "measure";
  progress.ok = 990;
  progress.failed = 10;
  progress.in_progress = 16;
  progress.bytes = 2'000'000;
  progress.statuses = {4, 0, 990, 0, 0, 6};
  progress.errors[static_cast<std::size_t>(ErrorKind::timeout)] = 4;
  progress.errors[static_cast<std::size_t>(ErrorKind::unexpected_status)] = 6;
  progress.elapsed_s = 2;
  progress.rate_per_s = 500;
  progress.bytes_per_s = 1'000'000;
  for (int i = 0; i < 990; ++i) progress.whole_run.record(i < 980 ? 2'000'000 : 40'000'000);
  progress.last_second.record(3'000'000);
  progress.requests = 4000;
  return progress;
}

TEST(LiveView, ShowsThePastSecondAndTheRun) {
  EXPECT_EQ(
      progress_text("Pull 1MB", some_progress()),
      "Pull 1MB  measure  1000 of 4000 (25%)  2s  left 6s\n"
      "  now  500/s  1.00 MB/s  in flight 16  p50 3.00 ms  p90 3.00 ms  p99 3.00 ms\n"
      "  run  2xx 990  5xx 6  errors 10 (timeout 4, unexpected_status 6)  p50 2.00 ms  p99 40.0 ms  p99.9 "
      "40.0 ms");
}

TEST(LiveView, TimeLeftIsOfWhatEndsFirst) {
  auto progress = some_progress();
  progress.duration_s = 5;
  EXPECT_TRUE(progress_text("t", progress).contains("left 3s\n"));
  EXPECT_TRUE(progress_text("t", progress, 197).contains("left 3s, in all 3m 20s\n"));
  progress.requests = 0;
  EXPECT_TRUE(progress_text("t", progress).starts_with("t  measure  1000  2s  left 3s\n"));
  progress.duration_s = 0;
  EXPECT_FALSE(progress_text("t", progress).contains("left"));
  progress.phase = "set up";
  EXPECT_EQ(progress_text("t", progress), "t  set up  2s");
}

TEST(MetricsText, HasEveryFamilyOnceAndEveryTest) {
  load::Progress second = some_progress();
  second.phase = "warm up";
  second.errors = {};
  const std::string text = metrics_text({{"a \"b\"\\", some_progress()}, {"two", second}});
  const auto has = [&text](std::string_view line) {
    EXPECT_TRUE(text.contains(std::string(line) + "\n")) << line << "\nin\n" << text;
  };
  has("# TYPE plimsoll_operations_total counter");
  has(R"(plimsoll_operations_total{test="a \"b\"\\",result="ok"} 990)");
  has(R"(plimsoll_operations_total{test="two",result="failed"} 10)");
  has(R"(plimsoll_errors_total{test="a \"b\"\\",kind="timeout"} 4)");
  has(R"(plimsoll_responses_total{test="two",class="5xx"} 6)");
  has(R"(plimsoll_phase{test="two",phase="warm up"} 1)");
  has(R"(plimsoll_in_flight{test="two"} 16)");
  has(R"(plimsoll_latency_seconds_bucket{test="two",le="0.0025"} 980)");
  has(R"(plimsoll_latency_seconds_bucket{test="two",le="+Inf"} 990)");
  has(R"(plimsoll_latency_seconds_count{test="two"} 990)");
  has(R"(plimsoll_requested_operations{test="two"} 4000)");
  EXPECT_FALSE(text.contains(R"(plimsoll_errors_total{test="two")"));
  EXPECT_EQ(text.find("# TYPE plimsoll_latency_seconds "), text.rfind("# TYPE plimsoll_latency_seconds "));
}

}  // namespace
}  // namespace plimsoll::cli
