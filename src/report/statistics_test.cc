#include "report/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace plimsoll::report {
namespace {

double normal(Random& random) {
  return std::sqrt(2 * random.exponential()) * std::cos(2 * M_PI * random.uniform());
}

TEST(Quantile, InterpolatesUnsortedValues) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(median({5, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(quantile({2, 1}, 1), 2);
}

TEST(RankTest, IsExactForFewValues) {
  const std::array a = {1.0, 2.0, 3.0};
  const std::array b = {4.0, 5.0, 6.0};
  EXPECT_DOUBLE_EQ(rank_test(a, b).greater, 1.0 / 20);
  EXPECT_DOUBLE_EQ(rank_test(a, b).two_sided, 2.0 / 20);
  EXPECT_DOUBLE_EQ(rank_test(b, a).greater, 1);
  const std::array c = {1.5, 3.5, 0.5};  // U of c over a is 4: 1.5 over 1; 3.5 over 1, 2, 3
  EXPECT_DOUBLE_EQ(rank_test(a, c).greater, 13.0 / 20);
}

// Against every choice of ranks, counted one by one.
TEST(RankTest, AgreesWithCounting) {
  const std::size_t m = 4;
  const std::size_t n = 5;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Random random(seed);
    std::vector<double> a(m);
    std::vector<double> b(n);
    for (double& x : a) x = random.uniform();
    for (double& x : b) x = random.uniform() + 0.2;
    const auto u_of = [&](unsigned mask, const std::vector<double>& sorted) {
      int u = 0;
      for (std::size_t i = 0; i < m + n; ++i) {
        if ((mask >> i & 1U) == 0) continue;
        for (std::size_t j = 0; j < m + n; ++j) u += (mask >> j & 1U) == 0 && sorted[j] < sorted[i] ? 1 : 0;
      }
      return u;
    };
    std::vector<double> sorted = a;
    sorted.insert(sorted.end(), b.begin(), b.end());
    std::ranges::sort(sorted);
    unsigned actual = 0;
    for (std::size_t i = 0; i < m + n; ++i) actual |= std::ranges::count(b, sorted[i]) > 0 ? 1U << i : 0U;
    const int u = u_of(actual, sorted);
    int all = 0;
    int as_high = 0;
    for (unsigned mask = 0; mask < 1U << (m + n); ++mask) {
      if (std::popcount(mask) != static_cast<int>(n)) continue;
      ++all;
      as_high += u_of(mask, sorted) >= u ? 1 : 0;
    }
    EXPECT_DOUBLE_EQ(rank_test(a, b).greater, static_cast<double>(as_high) / all) << seed;
  }
}

TEST(RankTest, CriesWolfAsOftenAsItSays) {
  int raised = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    std::vector<double> a(40);
    std::vector<double> b(35);
    for (double& x : a) x = std::exp(normal(random));
    for (double& x : b) x = std::exp(normal(random));
    raised += rank_test(a, b).two_sided < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(raised / 2000.0, 0.05, 0.012);
}

TEST(RankTest, TellsNothingFromEqualValuesOrNone) {
  const std::vector<double> same(30, 1.0);
  EXPECT_DOUBLE_EQ(rank_test(same, same).two_sided, 1);
  EXPECT_DOUBLE_EQ(rank_test(same, {}).two_sided, 1);
}

// Against tables of Student's distribution: 12.706, 4.303, 2.776 leave 5% for 1, 2 and 4 degrees of freedom.
TEST(WelchTest, AgreesWithTables) {
  const std::vector<double> a = {10, 12, 14};
  for (const double shift : {1.0, 5.0, 20.0}) {
    const std::vector<double> b = {10 + shift, 12 + shift, 14 + shift};
    const WelchTest test = welch_test(a, b);
    const double error = std::sqrt(8.0 / 3);
    EXPECT_NEAR(test.difference, shift, 1e-12);
    EXPECT_NEAR(test.high - test.difference, 2.7764 * error, 1e-3);
    EXPECT_NEAR(test.difference - test.low, 2.7764 * error, 1e-3);
    EXPECT_EQ(test.p_value < 0.05, shift > 2.7764 * error);
  }
  const std::vector<double> two = {1, 2};
  EXPECT_NEAR(welch_test(two, std::vector<double>{4, 5}).p_value, 0.0513,
              1e-3);  // t = 3 * sqrt(2), 2 degrees
  EXPECT_NEAR(welch_test(two, std::vector<double>{1, 2}).p_value, 1, 1e-12);
  EXPECT_EQ(welch_test(std::vector<double>{1}, two).p_value, 1);
  EXPECT_EQ(welch_test(std::vector<double>{1, 1}, std::vector<double>{2, 2}).p_value, 0);
}

TEST(WelchTest, CriesWolfAsOftenAsItSays) {
  Random random(3);
  int cries = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> a(3);
    std::vector<double> b(3);
    for (double& value : a) value = random.uniform() + random.uniform() + random.uniform();
    for (double& value : b) value = random.uniform() + random.uniform() + random.uniform();
    cries += welch_test(a, b).p_value < 0.05 ? 1 : 0;
  }
  EXPECT_LE(cries, 120);
  EXPECT_GE(cries, 40);
}

TEST(Trend, FindsASlopeAndItsInterval) {
  std::vector<double> values;
  Random random(3);
  for (int i = 0; i < 50; ++i) values.push_back(10 + 0.2 * i + normal(random));
  const Trend found = trend(values);
  EXPECT_LT(found.p_value, 1e-6);
  EXPECT_NEAR(found.slope, 0.2, 0.03);
  EXPECT_LT(found.low, 0.2);
  EXPECT_GT(found.high, 0.2);
}

TEST(Bootstrap, CoversTheMean) {
  int covered = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<double> values(40);
    for (double& x : values) x = 5 + normal(random);
    const Interval interval = bootstrap(values, mean, random, 400);
    covered += interval.low < 5 && interval.high > 5 ? 1 : 0;
  }
  EXPECT_GT(covered, 270);
}

TEST(Holm, AdjustsInOrder) {
  const auto adjusted = holm({0.01, 0.04, 0.03, 0.005});
  EXPECT_DOUBLE_EQ(adjusted[3], 0.02);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.06);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.06);
}

TEST(Blocks, CoverEveryValueOnce) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(block_means(values, 3), (std::vector<double>{1.5, 3.5, 6}));
  EXPECT_EQ(block_medians(values, 100).size(), 7U);
}

}  // namespace
}  // namespace plimsoll::report
