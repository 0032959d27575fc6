// The texts against what HdrHistogram's Java implementation (2.1.11) wrote for the same histograms.
#include "stats/hdr_log.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"

namespace plimsoll::stats {
namespace {

// The squares of 1 to 1000, in microseconds.
constexpr std::string_view kSquares =
    "HISTFAAAAdl4nJWPT0hUURjF33fePB+P4THoMEhMIiERIqIhIRIiERYRERLhQlpEtAiJEJEWLlxotIgImYULCQMXQ0TLQJCI"
    "Fq1EXEQrly7btGkZ9HnvvPvn3Xff6Pz4nXO+yyxmLm606kEQ/wvkJ+w08bw1vvchmPkjH45qOBxEuw8/U2wmaCX42IN2jG8V"
    "HFXwNsJ6BeshdkN8D3ES4jPwDtjB6fgKHAIHwBfCPuEH4YDwi3BMOCH8JvwlfCKs4RXhNeENYZPQImwRtgk7hF1CW3zlPWEe"
    "C8wjPGae4CmeMYt4jhdYwjJW8BKrfE8zM7ghuIlZ9rbgDnOXucfcZ+aYB8xDZhbDGGFGhaeMKa4KJhTXBJPCSUwJp3BdOM2O"
    "YqDDoFBzSShzSKwhYcZlpeSKUjKslIygH3WmoczSpN8yy4wLKrU2TZXSptFN/oe6B1SmDjWra5Z21nK713jtzaXUTt0m9dyq"
    "O2ap26aBKhLErJ2689tH1VlmV63lai63zeUnLdhpLu2lzS+zzZUiOgNxyR2XdnHay72kvsufbpvL3r6XYpLSl8RZiffSaa/u"
    "Jvxrww5BwXIv9y57PT/RmV4jz1W2yjsqffPfvhV1fdV2e8mv4rsoiy9/6/UfIRRo9w==";

constexpr std::string_view kSquaresTable = R"(       Value     Percentile TotalCount 1/(1-Percentile)

       0.001 0.000000000000          1           1.00
      10.002 0.100000000000        100           1.11
      40.010 0.200000000000        200           1.25
      90.046 0.300000000000        300           1.43
     160.039 0.400000000000        400           1.67
     250.085 0.500000000000        500           2.00
     302.514 0.550000000000        550           2.22
     360.186 0.600000000000        600           2.50
     422.576 0.650000000000        650           2.86
     490.209 0.700000000000        700           3.33
     562.561 0.750000000000        750           4.00
     600.834 0.775000000000        775           4.44
     640.156 0.800000000000        800           5.00
     681.050 0.825000000000        825           5.71
     722.993 0.850000000000        850           6.67
     765.985 0.875000000000        875           8.00
     789.053 0.887500000000        888           8.89
     810.025 0.900000000000        900          10.00
     833.618 0.912500000000        913          11.43
     855.638 0.925000000000        925          13.33
     880.280 0.937500000000        938          16.00
     891.290 0.943750000000        944          17.78
     902.824 0.950000000000        950          20.00
     915.931 0.956250000000        957          22.86
     927.465 0.962500000000        963          26.67
     939.000 0.968750000000        969          32.00
     945.291 0.971875000000        972          35.56
     951.058 0.975000000000        975          40.00
     958.923 0.978125000000        979          45.71
     964.690 0.981250000000        982          53.33
     970.457 0.984375000000        985          64.00
     972.554 0.985937500000        986          71.11
     976.224 0.987500000000        988          80.00
     980.419 0.989062500000        990          91.43
     982.516 0.990625000000        991         106.67
     986.186 0.992187500000        993         128.00
     986.186 0.992968750000        993         142.22
     988.283 0.993750000000        994         160.00
     990.380 0.994531250000        995         182.86
     992.477 0.995312500000        996         213.33
     994.050 0.996093750000        997         256.00
     994.050 0.996484375000        997         284.44
     994.050 0.996875000000        997         320.00
     996.147 0.997265625000        998         365.71
     996.147 0.997656250000        998         426.67
     998.244 0.998046875000        999         512.00
     998.244 0.998242187500        999         568.89
     998.244 0.998437500000        999         640.00
     998.244 0.998632812500        999         731.43
     998.244 0.998828125000        999         853.33
    1000.342 0.999023437500       1000        1024.00
    1000.342 1.000000000000       1000
#[Mean    =      333.835, StdDeviation   =      298.423]
#[Max     =     1000.342, Total count    =         1000]
#[Buckets =           32, SubBuckets     =         2048]
)";

constexpr std::string_view kEmptyTable = R"(       Value     Percentile TotalCount 1/(1-Percentile)

#[Mean    =        0.000, StdDeviation   =        0.000]
#[Max     =        0.000, Total count    =            0]
#[Buckets =           32, SubBuckets     =         2048]
)";

constexpr std::string_view kUnit = "#[Unit    = milliseconds]\n";

Histogram squares() {
  const auto read = Histogram::decode_v2(kSquares);
  EXPECT_TRUE(read);
  return *read;
}

TEST(Hgrm, IsTheReferencesTable) {
  EXPECT_EQ(hgrm(squares()), std::string(kSquaresTable) + std::string(kUnit));
  EXPECT_EQ(hgrm(Histogram()), std::string(kEmptyTable) + std::string(kUnit));
}

TEST(Hgrm, KeepsWithinTheExactMaximum) {
  Histogram h;
  h.record(1'000'000'001);
  const std::string table = hgrm(h);
  EXPECT_NE(table.find("    1000.000 1.000000000000          1\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("1000.3"), std::string::npos) << table;
}

TEST(Hgrm, EndsForEveryHistogram) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Histogram h;
    for (std::uint64_t i = 1 + random.below(300); i > 0; --i) {
      h.record(random.next() >> (18 + random.below(46)), 1 + (random.next() >> (40 + random.below(24))));
    }
    const std::string table = hgrm(h);
    const auto rows = split(table, '\n');
    std::uint64_t before = 0;
    std::string_view last;
    for (const auto row : rows) {
      if (row.empty() || row.front() == '#' || row.find("Value") != std::string_view::npos) continue;
      const auto total = parse_u64(trim(row.substr(28, 10)));
      if (total) EXPECT_GE(*total, before);
      before = total.value_or(before);
      last = row;
    }
    EXPECT_NE(last.find(" 1.000000000000 "), std::string_view::npos) << last;
    EXPECT_NE(last.find(std::to_string(h.count())), std::string_view::npos) << last;
    EXPECT_LT(rows.size(), 500U);
  }
}

TEST(Hgrm, EndsWhereTheRestIsTooSmallAShareToSee) {
  Histogram h;
  h.record(1'000'000, INT64_MAX - 5);
  h.record(2'000'000);
  EXPECT_NE(hgrm(h).find("       2.000 1.000000000000 9223372036854775803\n"), std::string::npos) << hgrm(h);
}

TEST(HistogramLog, IsTheReferencesLog) {
  HistogramLog log(std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123)));
  log.interval("latency", 1, 1, squares());
  log.interval("", 2, 0.5, 3.601330078,
               "HISTFAAAADZ4nJNpmSzMwMAgwgABzFCaEch0M9ixgMH+A0SAiemnPBvT/j7GGyy94UyHW5geHOUAAOrVC4k=");
  const auto lines = split(log.text(), '\n');
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0], "#[Histogram log format version 1.3]");
  EXPECT_EQ(lines[1], "#[StartTime: 1700000000.123 (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]");
  EXPECT_EQ(lines[2], "#[BaseTime: 1700000000.123 (seconds since epoch)]");
  EXPECT_EQ(lines[3], R"("StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram")");
  EXPECT_TRUE(lines[4].starts_with("Tag=latency,1.000,1.000,1000.342,HISTFA")) << lines[4];
  const auto back = Histogram::decode_v2(lines[4].substr(lines[4].rfind(',') + 1));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->encode_v2(), squares().encode_v2());
  EXPECT_TRUE(lines[5].starts_with("2.000,0.500,3601.330,HISTFA")) << lines[5];
}

TEST(HistogramLog, WritesNoTagThatBreaksARow) {
  HistogramLog log({});
  log.interval("Push Monolith 1MB, blob\nPUT", 0, 1, Histogram());
  EXPECT_NE(log.text().find("\nTag=Push_Monolith_1MB__blob_PUT,0.000,"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::stats
