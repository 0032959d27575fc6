#include "report/figures.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/example_record.h"

namespace plimsoll::report {
namespace {

TEST(Figures, NamesAreUnique) {
  std::set<std::string> names;
  for (const Figure& figure : figures(test::example_pull()))
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
  EXPECT_GT(names.size(), 100U);
}

TEST(Figures, AreFoundByNameWhateverItsCase) {
  const stats::TestRecord test = test::example_push();
  EXPECT_DOUBLE_EQ(find_figure(test, "p99.9")->value, test.latency_s.p999);
  EXPECT_DOUBLE_EQ(find_figure(test, "Upload_Put ttfb P99")->value, test.steps[1].ttfb_s.p99);
  EXPECT_DOUBLE_EQ(find_figure(test, "errors")->value, 0.04);
  EXPECT_DOUBLE_EQ(find_figure(test, "throughput sent")->value, 104'977'600 / 0.952336383);
  EXPECT_FALSE(find_figure(test, "p98.5"));
  EXPECT_FALSE(find_figure(test, "offered")) << "a closed loop offers no rate";
}

TEST(Figures, WhatWasNotMeasuredIsUnknown) {
  const stats::TestRecord nothing;
  EXPECT_FALSE(find_figure(nothing, "p99")->known);
  EXPECT_FALSE(find_figure(nothing, "rate")->known);
  EXPECT_FALSE(find_figure(nothing, "errors")->known);
  EXPECT_EQ(human(*find_figure(nothing, "p99")), "-");
}

TEST(Figures, ReadAsAPersonReadsThem) {
  EXPECT_EQ(human(Unit::seconds, 0.00302), "3.02 ms");
  EXPECT_EQ(human(Unit::per_second, 105.00491), "105/s");
  EXPECT_EQ(human(Unit::per_second, 123456.7), "123457/s");
  EXPECT_EQ(human(Unit::bytes_per_second, 1.25e6), "1.25 MB/s");
  EXPECT_EQ(human(Unit::share, 0.001), "0.1%");
  EXPECT_EQ(human(Unit::count, 42), "42");
}

TEST(Figures, ColumnsCarryTheirUnit) {
  const stats::TestRecord test = test::example_push();
  EXPECT_EQ(column_name(*find_figure(test, "p99.9")), "p99.9_s");
  EXPECT_EQ(column_name(*find_figure(test, "throughput sent")), "throughput_sent_bytes_per_s");
  EXPECT_EQ(column_name(*find_figure(test, "rate")), "rate_per_s");
}

}  // namespace
}  // namespace plimsoll::report
