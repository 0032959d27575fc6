#include "report/ci_cd.h"

#include <gtest/gtest.h>

#include "tests/support/example_record.h"

namespace plimsoll::report {
namespace {

TEST(CiCd, IsZbsFile) {
  EXPECT_EQ(
      ci_cd(test::example_record()).value(),
      R"([{"name":"Push Monolith 1MB","unit":"requests per sec","value":105.00491,"range":"3"},)"
      R"({"name":"Pull 75% and Push 25% Mixed 1MB","unit":"requests per sec","value":400,"range":"3"}])");
  EXPECT_EQ(ci_cd({}).value(), "[]");
}

TEST(CiCd, RefusesWhatJsonCannotHold) {
  stats::Record record;
  record.tests.resize(1);
  record.tests[0].name = "Get Catalog";
  record.tests[0].operations.ok = 1;  // in no time: an infinite rate
  const auto text = ci_cd(record);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "ci-cd.json: the rate of 'Get Catalog' is no finite number");
}

TEST(GoJsonFloat32, FollowsGosRule) {
  EXPECT_EQ(go_json_float32(1e6F), "1000000");
  EXPECT_EQ(go_json_float32(771.232F), "771.232");
  EXPECT_EQ(go_json_float32(1.2345679e9F), "1234568000");
  EXPECT_EQ(go_json_float32(0.000001F), "0.000001");
  EXPECT_EQ(go_json_float32(1e-7F), "1e-7");
  EXPECT_EQ(go_json_float32(1.5e21F), "1.5e+21");
  EXPECT_EQ(go_json_float32(0), "0");
  EXPECT_EQ(go_json_float32(-0.5F), "-0.5");
}

}  // namespace
}  // namespace plimsoll::report
