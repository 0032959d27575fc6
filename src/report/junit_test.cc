#include "report/junit.h"

#include <gtest/gtest.h>

#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

TEST(Junit, Golden) {
  test::expect_golden("thresholds.junit.xml", junit(test::example_record()));
}

TEST(Junit, WithoutThresholdsTestsAreTheCases) {
  stats::Record record = test::example_record();
  record.thresholds.clear();
  test::expect_golden("tests.junit.xml", junit(record));
}

TEST(Junit, ForeignTextIsNoMarkup) {
  stats::Record record = test::example_record();
  record.thresholds.clear();
  record.tests[0].errors[0].sample.text = "\"/><testcase name='x'>\x01";
  const std::string xml = junit(record);
  EXPECT_EQ(xml.find("<testcase name='x'>"), std::string::npos);
  EXPECT_NE(xml.find("&quot;/&gt;&lt;testcase name=&#39;x&#39;&gt;\\x01"), std::string::npos) << xml;
}

}  // namespace
}  // namespace plimsoll::report
