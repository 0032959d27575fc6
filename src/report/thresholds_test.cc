#include "report/thresholds.h"

#include <gtest/gtest.h>

#include "tests/support/example_record.h"

namespace plimsoll::report {
namespace {

stats::Record one_test() {
  stats::Record record = test::example_record();
  record.tests.resize(1);
  return record;
}

TEST(Thresholds, ParseEveryUnit) {
  EXPECT_DOUBLE_EQ(parse_threshold("p99 > 50ms")->value, 0.05);
  EXPECT_DOUBLE_EQ(parse_threshold("p99>0.05")->value, 0.05);
  EXPECT_DOUBLE_EQ(parse_threshold("errors > 0.1%")->value, 0.001);
  EXPECT_DOUBLE_EQ(parse_threshold("rate < 1000/s")->value, 1000);
  EXPECT_DOUBLE_EQ(parse_threshold("throughput received <= 100MB/s")->value, 1e8);
  EXPECT_DOUBLE_EQ(parse_threshold("failed >= 3")->value, 3);
  EXPECT_DOUBLE_EQ(parse_threshold("layer GET ttfb p99.9 > 5ms")->value, 0.005);
  EXPECT_DOUBLE_EQ(parse_threshold("backlog age > 2s")->value, 2);
}

TEST(Thresholds, TakeATestByName) {
  const auto rule = parse_threshold("Pull Mixed 20% 1MB, 70% 10MB, 10% 100MB: p99 > 5ms");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->test, "Pull Mixed 20% 1MB, 70% 10MB, 10% 100MB");
  EXPECT_EQ(rule->figure, "p99");
}

TEST(Thresholds, RefusalsNameTheForm) {
  for (const char* bad : {"", "p99", "p99 50ms", "> 50ms", "p99 >", "p99 = 5", ": p99 > 1s", "p99 > fast",
                          "p97 > 1s", "errors > 10", "errors > -1", "rate < x", "nonsense > 1", "p99 > 5%"}) {
    const auto rule = parse_threshold(bad);
    ASSERT_FALSE(rule) << bad;
    EXPECT_NE(rule.error().message.find("expected"), std::string::npos) << rule.error().message;
    EXPECT_EQ(rule.error().message.find('\n'), std::string::npos);
  }
}

TEST(Thresholds, FailWhereTheConditionHolds) {
  const stats::Record record = one_test();  // p99 is 25.6 ms, 4% errors, 105/s
  const auto pass = [&](const char* text) {
    const auto rows = evaluate(parse_threshold(text).value(), record);
    EXPECT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].expression, text);
    return rows[0].pass;
  };
  EXPECT_TRUE(pass("p99 > 50ms"));
  EXPECT_FALSE(pass("p99 > 20ms"));
  EXPECT_FALSE(pass("errors > 3.9%"));
  EXPECT_TRUE(pass("errors > 4%"));
  EXPECT_FALSE(pass("errors >= 4%"));
  EXPECT_FALSE(pass("rate < 1000"));
  EXPECT_TRUE(pass("rate < 100"));
  EXPECT_TRUE(pass("ok < 96"));
  EXPECT_FALSE(pass("ok <= 96"));
}

TEST(Thresholds, AreOnEveryTestUnlessOneIsNamed) {
  const stats::Record record = test::example_record();
  const auto all = evaluate(parse_threshold("p99 > 10ms").value(), record);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].expression, "Push Monolith 1MB: p99 > 10ms");
  EXPECT_FALSE(all[0].pass);
  EXPECT_TRUE(all[1].pass);
  const auto named = evaluate(parse_threshold("Push Monolith 1MB: p99 > 10ms").value(), record);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].expression, all[0].expression);
  EXPECT_DOUBLE_EQ(named[0].observed, record.tests[0].latency_s.p99);
}

TEST(Thresholds, WhatCouldNotBeSeenDidNotPass) {
  stats::Record record = one_test();
  EXPECT_FALSE(evaluate(parse_threshold("Pull 1MB: p99 > 5ms").value(), record).at(0).pass);
  EXPECT_FALSE(evaluate(parse_threshold("layer GET p99 > 5ms").value(), record).at(0).pass);
  record.tests[0].latency_s = {};
  EXPECT_FALSE(evaluate(parse_threshold("p99 > 5h").value(), record).at(0).pass);
}

TEST(Thresholds, KnowWhetherTheySpeakOfErrors) {
  EXPECT_TRUE(parse_threshold("errors > 1%")->speaks_of_errors());
  EXPECT_TRUE(parse_threshold("failed > 1")->speaks_of_errors());
  EXPECT_FALSE(parse_threshold("failed p99 > 1s")->speaks_of_errors());
}

TEST(ChangeRules, WantASign) {
  EXPECT_DOUBLE_EQ(parse_change("p99 > +5%")->change, 0.05);
  EXPECT_DOUBLE_EQ(parse_change("Pull 1MB: rate < -3%")->change, -0.03);
  for (const char* bad : {"p99 > 5%", "p99 > +5", "p99 > +x%", "p99", "x > +5%"}) {
    const auto rule = parse_change(bad);
    ASSERT_FALSE(rule) << bad;
    EXPECT_NE(rule.error().message.find("expected"), std::string::npos);
  }
}

}  // namespace
}  // namespace plimsoll::report
