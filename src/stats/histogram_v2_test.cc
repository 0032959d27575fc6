// The encoding against what HdrHistogram's Java implementation (2.1.11) wrote for the same values.
#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "stats/histogram.h"

namespace plimsoll::stats {
namespace {

constexpr std::string_view kJavaHundredHex =
    "1c849313000000c8000000000000000200000000000003e80000034630b8a0003ff00000000000002502250223022502"
    "23022502230225022302250223022502230213021102110211020f021102110211020f021102110211020f0209020702"
    "070207020702070207020702050207020702070207020702070207020502070207020702070207020702070207020502"
    "050200020302000203020002030200020002030200020302000203020002030200020002030200020302000203020002"
    "000203020002030200020302000203020002000203020002030200020302000203020002000203020002030200020302";

constexpr std::string_view kJavaSquares =
    "HISTFAAAAdl4nJWPT0hUURjF33fePB+P4THoMEhMIiERIqIhIRIiERYRERLhQlpEtAiJEJEWLlxotIgImYULCQMXQ0TLQJCI"
    "Fq1EXEQrly7btGkZ9HnvvPvn3Xff6Pz4nXO+yyxmLm606kEQ/wvkJ+w08bw1vvchmPkjH45qOBxEuw8/U2wmaCX42IN2jG8V"
    "HFXwNsJ6BeshdkN8D3ES4jPwDtjB6fgKHAIHwBfCPuEH4YDwi3BMOCH8JvwlfCKs4RXhNeENYZPQImwRtgk7hF1CW3zlPWEe"
    "C8wjPGae4CmeMYt4jhdYwjJW8BKrfE8zM7ghuIlZ9rbgDnOXucfcZ+aYB8xDZhbDGGFGhaeMKa4KJhTXBJPCSUwJp3BdOM2O"
    "YqDDoFBzSShzSKwhYcZlpeSKUjKslIygH3WmoczSpN8yy4wLKrU2TZXSptFN/oe6B1SmDjWra5Z21nK713jtzaXUTt0m9dyq"
    "O2ap26aBKhLErJ2689tH1VlmV63lai63zeUnLdhpLu2lzS+zzZUiOgNxyR2XdnHay72kvsufbpvL3r6XYpLSl8RZiffSaa/u"
    "Jvxrww5BwXIv9y57PT/RmV4jz1W2yjsqffPfvhV1fdV2e8mv4rsoiy9/6/UfIRRo9w==";

// What stands inside the compression, in hex.
std::string plain_hex(const Histogram& h) {
  const std::string bytes = base64_decode(h.encode_v2()).value();
  EXPECT_EQ(to_hex(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), 4)), "1c849314");
  std::vector<std::uint8_t> plain(1 << 20);
  uLongf size = plain.size();
  EXPECT_EQ(
      uncompress(plain.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()) + 8, bytes.size() - 8),
      Z_OK);
  return to_hex(std::span(plain.data(), size));
}

void expect_same_counts(const Histogram& a, const Histogram& b) {
  ASSERT_TRUE(a.same_layout(b));
  ASSERT_EQ(a.count(), b.count());
  for (std::size_t i = 0; i < a.buckets(); ++i) ASSERT_EQ(a.count_at(i), b.count_at(i)) << "bucket " << i;
}

TEST(HistogramV2, WritesWhatTheReferenceWrites) {
  Histogram few;
  EXPECT_EQ(plain_hex(few),
            "1c84931300000001000000000000000300000000000000010000034630b8a0003ff000000000000000");
  few.record(0);
  few.record(1);
  few.record(2047, 3);
  few.record(2048);
  few.record(1'000'000, 300);
  few.record(45'397'205);
  few.record(3'600'000'000'000, 70'000);
  EXPECT_EQ(plain_hex(few),
            "1c84931300000014000000000000000300000000000000010000034630b8a0003ff0000000000000"
            "0202f91f0602bf8e01d8048d5702c38402e0c508");

  Histogram hundred(1'000, Histogram::kHighest, 2);
  for (std::uint64_t i = 1; i <= 100; ++i) hundred.record(i * 10'000);
  EXPECT_EQ(plain_hex(hundred), kJavaHundredHex);

  Histogram five(1, 1'000'000, 5);
  five.record(7);
  five.record(999'999);
  EXPECT_EQ(plain_hex(five),
            "1c849313000000060000000000000005000000000000000100000000000f42403ff00000000000000d028dc23e02");

  Histogram big;  // a count of nine bytes
  big.record(5'000, INT64_MAX - 5);
  EXPECT_EQ(plain_hex(big),
            "1c8493130000000b000000000000000300000000000000010000034630b8a0003ff0000000000000c333f4ffffffffff"
            "ffffff");
}

TEST(HistogramV2, ReadsWhatTheReferenceWrote) {
  const auto read = Histogram::decode_v2(kJavaSquares);
  ASSERT_TRUE(read) << read.error().message;
  Histogram squares;
  for (std::uint64_t i = 1; i <= 1000; ++i) squares.record(i * i * 1000);
  expect_same_counts(*read, squares);
  EXPECT_EQ(read->percentile(0.5), 250'085'375U);
  EXPECT_EQ(read->percentile(0.9), 810'024'959U);
  EXPECT_EQ(read->percentile(0.99), 980'418'559U);
  EXPECT_EQ(read->min(), 1000U);
  EXPECT_EQ(read->max(), 1'000'341'503U);
  EXPECT_NEAR(read->mean(), 333'834'770.033, 1);
  EXPECT_NEAR(read->stddev(), 298'422'774.755, 1);
}

TEST(HistogramV2, ReadsBackWhatItWrote) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Histogram h(1 + random.below(2000), Histogram::kHighest, 1 + static_cast<int>(random.below(4)));
    for (std::uint64_t i = random.below(500); i > 0; --i) {
      h.record(random.next() >> (22 + random.below(42)), 1 + (random.next() >> (20 + random.below(44))));
    }
    const auto back = Histogram::decode_v2(h.encode_v2());
    ASSERT_TRUE(back) << back.error().message;
    expect_same_counts(*back, h);
  }
}

TEST(HistogramV2, RefusesWhatIsNoEncoding) {
  Histogram h;
  h.record(1'000'000, 5);
  const std::string good = h.encode_v2();
  for (const std::string_view bad : {"", "A", "!!!!", "AAAA", "HISTFAAAACF4nA=="}) {
    EXPECT_FALSE(Histogram::decode_v2(bad)) << bad;
  }
  const std::string bytes = base64_decode(good).value();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    // Without its last bytes only the checksum is missing, which the counts do not need.
    if (n + 6 < bytes.size()) EXPECT_FALSE(Histogram::decode_v2(base64_encode(bytes.substr(0, n)))) << n;
  }
}

TEST(HistogramV2, SurvivesDamage) {
  Random random(77);
  Histogram h;
  for (int i = 0; i < 50; ++i) h.record(random.next() >> 30);
  const std::string bytes = base64_decode(h.encode_v2()).value();
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    char& byte = damaged[random.below(damaged.size())];
    byte = static_cast<char>(byte ^ (1U << random.below(8)));
    const auto read = Histogram::decode_v2(base64_encode(damaged));
    if (!read) ++refused;
    if (read) EXPECT_LE(read->min(), read->max());
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace plimsoll::stats
