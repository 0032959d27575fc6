#include "report/zb_text.h"

#include <gtest/gtest.h>

#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

TEST(ZbText, HeaderGolden) {
  test::expect_golden("zb_header.txt", zb_header(test::example_record()));
}

TEST(ZbText, HeaderOfASyncRunNamesTheUpstream) {
  stats::Record record = test::example_record();
  record.upstream_url = "http://localhost:9000";
  record.skipped.clear();
  EXPECT_EQ(zb_header(record),
            "Registry URL:          http://localhost:5000\n"
            "Upstream Registry URL: http://localhost:9000\n"
            "Concurrency Level:     2\n"
            "Total requests:        100\n"
            "Working dir:           /home/user/test\n"
            "\n"
            "Preparing test data ...\n"
            "Starting tests ...\n");
}

TEST(ZbText, PushBlockGolden) {
  test::expect_golden("zb_push.txt", zb_test_block(test::example_push()));
}
TEST(ZbText, MixedBlockGolden) {
  test::expect_golden("zb_mixed.txt", zb_test_block(test::example_pull()));
}

// The block of zb's own README, from the same figures.
TEST(ZbText, PrintsTheBlockOfZbsDocument) {
  stats::TestRecord test;
  test.name = "Push Monolith 1MB";
  test.action = "push";
  test.phases_s.measure = 0.020821408;
  test.operations = {.started = 1, .ok = 1, .failed = 0, .aborted = 0};
  test.statuses = {{201, 1}};
  test.latency_s.count = 1;
  for (double* value : {&test.latency_s.min, &test.latency_s.max, &test.latency_s.p50, &test.latency_s.p75,
                        &test.latency_s.p90, &test.latency_s.p99}) {
    *value = 0.018527633;
  }
  EXPECT_EQ(zb_lines(test),
            "============\n"
            "Test name:            Push Monolith 1MB\n"
            "Time taken for tests: 20.821408ms\n"
            "Requests per second:  48.027493\n"
            "Complete requests:    1\n"
            "Failed requests:      0\n"
            "\n"
            "2xx responses: 1\n"
            "\n"
            "min: 18.527633ms\n"
            "max: 18.527633ms\n"
            "p50: 18.527633ms\n"
            "p75: 18.527633ms\n"
            "p90: 18.527633ms\n"
            "p99: 18.527633ms\n"
            "\n");
}

TEST(ZbText, CatalogPrintsItsThreeSizes) {
  stats::TestRecord test = test::example_push();
  test.name = "Get Catalog";
  test.action = "catalog";
  EXPECT_NE(zb_lines(test).find("\n1MB:   0\n10MB:  0\n100MB: 0\n\n"), std::string::npos);
}

TEST(ZbText, LegacyTimingChangesTimeAndRateAlone) {
  stats::TestRecord test = test::example_push();
  test.details["legacy_time_s"] = "2";
  EXPECT_FLOAT_EQ(zb_rate(test), 50.0F);
  EXPECT_NE(zb_lines(test).find("Time taken for tests: 2s\n"), std::string::npos) << zb_lines(test);
}

TEST(ZbText, NothingRanIsARateOfZero) {
  const stats::TestRecord test;
  EXPECT_EQ(zb_rate(test), 0);
  EXPECT_NE(zb_lines(test).find("Requests per second:  0\n"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::report
