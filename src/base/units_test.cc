#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll {
namespace {

using namespace std::chrono_literals;

TEST(GoDuration, PrintsAsGoDoes) {
  EXPECT_EQ(go_duration(0ns), "0s");
  EXPECT_EQ(go_duration(999ns), "999ns");
  EXPECT_EQ(go_duration(1us), "1\u00b5s");
  EXPECT_EQ(go_duration(1001ns), "1.001\u00b5s");
  EXPECT_EQ(go_duration(999999ns), "999.999\u00b5s");
  EXPECT_EQ(go_duration(45397205ns), "45.397205ms");
  EXPECT_EQ(go_duration(24021370ns), "24.02137ms");
  EXPECT_EQ(go_duration(1444024183ns), "1.444024183s");
  EXPECT_EQ(go_duration(59999999999ns), "59.999999999s");
  EXPECT_EQ(go_duration(60s), "1m0s");
  EXPECT_EQ(go_duration(62500ms), "1m2.5s");
  EXPECT_EQ(go_duration(1h), "1h0m0s");
  EXPECT_EQ(go_duration(1h + 1min + 1005ms), "1h1m1.005s");
  EXPECT_EQ(go_duration(100h), "100h0m0s");
  EXPECT_EQ(go_duration(-1500ms), "-1.5s");
}

TEST(GoFloat32, PrintsShortestRoundTrip) {
  EXPECT_EQ(go_float32(2202.7788F), "2202.7788");
  EXPECT_EQ(go_float32(0.6925092F), "0.6925092");
  EXPECT_EQ(go_float32(0.05958381F), "0.05958381");
  EXPECT_EQ(go_float32(123456.79F), "123456.79");
  EXPECT_EQ(go_float32(100.0F), "100");
  EXPECT_EQ(go_float32(999999.94F), "999999.94");
  EXPECT_EQ(go_float32(1e6F), "1e+06");
  EXPECT_EQ(go_float32(1234567.0F), "1.234567e+06");
  EXPECT_EQ(go_float32(16777216.0F), "1.6777216e+07");
  EXPECT_EQ(go_float32(0.0001F), "0.0001");
  EXPECT_EQ(go_float32(9.999e-05F), "9.999e-05");
  EXPECT_EQ(go_float32(std::numeric_limits<float>::infinity()), "+Inf");
}

TEST(ParseDuration, TakesWhatTheHelpSays) {
  EXPECT_EQ(parse_duration("10s").value(), 10s);
  EXPECT_EQ(parse_duration("500ms").value(), 500ms);
  EXPECT_EQ(parse_duration("2m").value(), 2min);
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("3").value(), 3s);
  EXPECT_EQ(parse_duration("0.25").value(), 250ms);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  for (const char* bad : {"", "x", "-1s", "1y", "s", "1h30", "--"}) {
    EXPECT_FALSE(parse_duration(bad).has_value()) << bad;
  }
}

TEST(ParseSize, SeparatesDecimalFromBinary) {
  EXPECT_EQ(parse_size("512").value(), 512U);
  EXPECT_EQ(parse_size("64kB").value(), 64'000U);
  EXPECT_EQ(parse_size("187.8MB").value(), 187'800'000U);
  EXPECT_EQ(parse_size("8MiB").value(), 8U << 20);
  EXPECT_EQ(parse_size("1GiB").value(), 1ULL << 30);
  for (const char* bad : {"", "MB", "-1", "1XB", "1.2.3MB"}) EXPECT_FALSE(parse_size(bad).has_value()) << bad;
}

TEST(HumanUnits, KeepThreeDigits) {
  EXPECT_EQ(human_size(1'250'000), "1.25 MB");
  EXPECT_EQ(binary_size(312.0 * 1024 * 1024), "312 MiB");
  EXPECT_EQ(human_duration(0.00302), "3.02 ms");
  EXPECT_EQ(human_duration(1.2), "1.20 s");
  EXPECT_EQ(human_duration(0), "0 ns");
}

}  // namespace
}  // namespace plimsoll
