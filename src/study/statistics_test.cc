// SPDX-License-Identifier: MIT
// The statistics against scipy, exact fractions and enumeration
// (tests/reference/statistics_reference.py), and what must hold for any numbers.
#include "study/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "study/test_studies.h"

namespace tandem::study {
namespace {

using Values = std::vector<double>;
using Maybes = std::vector<std::optional<double>>;

constexpr double kTolerance = 1e-10;  // relative: two libraries' special functions

TEST(Statistics, SummariesAreThoseOfScipy) {
  std::size_t with_spread = 0;
  for (const Json& expected : fixture().at("summaries")) {
    SCOPED_TRACE(expected.dump());
    const Summary summary = summarize(expected.at("values").get<Values>());
    expect_near(summary.mean, expected.at("mean"), kTolerance);
    expect_near(summary.standard_error, expected.at("standard_error"), kTolerance);
    expect_near(summary.s, expected.at("s"), kTolerance);
    expect_near(summary.p, expected.at("p"), kTolerance);
    ASSERT_EQ(summary.interval.has_value(), !expected.at("interval").is_null());
    for (std::size_t end = 0; summary.interval && end < 2; ++end) {
      expect_near((*summary.interval)[end], expected.at("interval").at(end), kTolerance);
    }
    with_spread += summary.p && *summary.p > 0 && *summary.p < 1 ? 1 : 0;
  }
  EXPECT_GE(with_spread, 12U);
}

TEST(Statistics, EqualValuesHaveNoSpread) {
  for (const double value : {0.1, -0.1, 0.0}) {
    const Summary summary = summarize(Values(7, value));
    EXPECT_EQ(summary.mean, value);
    EXPECT_EQ(summary.standard_error, 0.0);
    EXPECT_EQ(summary.s, value > 0 ? 0.0 : value < 0 ? 1.0 : 0.5);
    EXPECT_EQ(summary.p, value == 0 ? 1.0 : 0.0);
    EXPECT_EQ(summary.interval, (std::array{value, value}));
  }
}

TEST(Statistics, OneSeedHasAMeanAndNoTest) {
  const Summary one = summarize(Values{0.25});
  EXPECT_EQ(one.mean, 0.25);
  EXPECT_FALSE(one.standard_error || one.s || one.p || one.interval);
  const Summary none = summarize(Values{});
  EXPECT_FALSE(none.mean || none.standard_error || none.s || none.p || none.interval);
}

TEST(Statistics, MarksAreThePapers) {
  EXPECT_EQ(mark_of(0.0), '+');
  EXPECT_EQ(mark_of(0.0499), '+');
  EXPECT_EQ(mark_of(0.05), '~');
  EXPECT_EQ(mark_of(0.5), '~');
  EXPECT_EQ(mark_of(0.95), '~');
  EXPECT_EQ(mark_of(0.9501), '-');
  EXPECT_EQ(mark_of(1.0), '-');
}

TEST(Statistics, ValuesThatAreNotFiniteAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  try {
    summarize(Values{1, nan, 2});
    FAIL() << "expected an error";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "Value 1 of 3 is nan; expected finite numbers");
  }
  EXPECT_THROW(best_of({1, std::numeric_limits<double>::infinity()}, std::array<std::size_t, 1>{1}),
               std::invalid_argument);
}

TEST(Holm, IsThatOfR) {
  for (const Json& expected : fixture().at("holm")) {
    SCOPED_TRACE(expected.dump());
    Maybes p;
    for (const Json& value : expected.at("p")) p.push_back(maybe(value));
    const Maybes adjusted = holm(p);
    ASSERT_EQ(adjusted.size(), p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      expect_near(adjusted[i], expected.at("adjusted").at(i), 1e-14);
    }
  }
}

TEST(Holm, PassesOverWhatIsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(holm(Maybes{0.25, nan, std::nullopt, 0.125}),
            (Maybes{0.25, std::nullopt, std::nullopt, 0.25}));
  EXPECT_THROW(holm(Maybes{0.5, 1.5}), std::invalid_argument);
}

/// The mean, and the values that a share of all draws of n do not exceed, by going through them.
BestOf enumerated(const Values& values, std::size_t n) {
  Values least;
  for (unsigned draw = 0; draw < 1U << values.size(); ++draw) {
    if (static_cast<std::size_t>(std::popcount(draw)) != n) continue;
    double min = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((draw >> i & 1U) != 0) min = std::min(min, values[i]);
    }
    least.push_back(min);
  }
  std::sort(least.begin(), least.end());
  const std::size_t draws = least.size();
  return {.n = n,
          .expected = std::accumulate(least.begin(), least.end(), 0.0) / static_cast<double>(draws),
          .low = least[(draws + 9) / 10 - 1],        // the first that a tenth do not exceed
          .median = least[(draws + 1) / 2 - 1],      // a half
          .high = least[(9 * draws + 9) / 10 - 1]};  // and nine tenths
}

TEST(BestOf, IsWhatAllDrawsGive) {
  const std::vector<Values> grids = {{3},
                                     {2, 1},
                                     {0.7, 0.7, 0.7},
                                     {5, 1, 4, 1, 3, 9, 2},
                                     {0.3, 0.1, 2.5, 2.5, 2.5, 0.2, 0.1, 0.9, 0.45, 0.5},
                                     {-1, 0, 8, 8, -3, 2, 2, 2, 7, 1, 1, 6, 100}};
  for (const Values& values : grids) {
    for (std::size_t n = 1; n <= values.size(); ++n) {
      SCOPED_TRACE(testing::Message() << n << " of " << values.size());
      const BestOf expected = enumerated(values, n);
      const BestOf best = best_of(values, std::array{n})[0];
      EXPECT_EQ(best.n, n);
      EXPECT_NEAR(best.expected, expected.expected, 1e-12);
      EXPECT_EQ(best.low, expected.low);
      EXPECT_EQ(best.median, expected.median);
      EXPECT_EQ(best.high, expected.high);
    }
  }
}

TEST(BestOf, OfLargeGridsIsThatOfExactFractions) {
  for (const Json& grid : fixture().at("best_of")) {
    const auto size = grid.at("size").get<std::size_t>();
    const auto modulus = grid.at("modulus").get<std::size_t>();
    Values values;
    for (std::size_t i = 0; i < size; ++i) {
      values.push_back(static_cast<double>((i * 7919 + 13) % modulus) / 1000);
    }
    for (const Json& expected : grid.at("curve")) {
      SCOPED_TRACE(testing::Message() << size << ": " << expected.dump());
      const BestOf best = best_of(values, std::array{expected.at("n").get<std::size_t>()})[0];
      EXPECT_NEAR(best.expected, expected.at("expected").get<double>(), 1e-11);
      EXPECT_EQ(best.low, expected.at("low").get<double>());
      EXPECT_EQ(best.median, expected.at("median").get<double>());
      EXPECT_EQ(best.high, expected.at("high").get<double>());
    }
  }
}

TEST(BestOf, SizesBeyondTheGridAreRefused) {
  EXPECT_THROW(best_of({1, 2}, std::array<std::size_t, 1>{0}), std::invalid_argument);
  try {
    best_of({1, 2}, std::array<std::size_t, 1>{3});
    FAIL() << "expected an error";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "The best of 3 was asked for; expected 1 to 2, the number of values");
  }
}

/// The least number that half of all draws do not exceed, by looking at every subset.
double enumerated_choice(const Values& chosen_by, const Values& score, std::size_t n) {
  Values found;
  for (std::size_t subset = 0; subset < std::size_t{1} << chosen_by.size(); ++subset) {
    std::size_t best = chosen_by.size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < chosen_by.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      ++count;
      if (best == chosen_by.size() || chosen_by[i] < chosen_by[best]) best = i;
    }
    if (count != n) continue;
    found.push_back(std::isinf(chosen_by[best]) ? chosen_by[best] : score[best]);
  }
  std::sort(found.begin(), found.end());
  return found[(found.size() + 1) / 2 - 1];
}

TEST(MedianChoice, IsWhatAllDrawsGive) {
  constexpr double kDiverged = std::numeric_limits<double>::infinity();
  const Values chosen_by{5, 1, 4, 1, 3, 9, 2, kDiverged, kDiverged};
  const Values score{0.2, 0.9, 0.1, 0.3, kDiverged, 0.25, 0.7, 0.05, kDiverged};  // of other runs
  for (std::size_t n = 1; n <= chosen_by.size(); ++n) {
    EXPECT_EQ(median_choice(chosen_by, score, n), enumerated_choice(chosen_by, score, n)) << n;
  }
  EXPECT_EQ(median_choice(chosen_by, score, 9), 0.9);  // the whole grid: of the first least
  EXPECT_EQ(median_choice(Values{kDiverged}, Values{1}, 1), kDiverged);
  const Values scores{0.3, 0.1, 2.5, 2.5, 0.2, 0.45, 0.5};
  for (std::size_t n = 1; n <= scores.size(); ++n) {
    EXPECT_EQ(median_choice(scores, scores, n), best_of(scores, std::array{n})[0].median) << n;
  }
}

TEST(MedianChoice, RefusesWhatCannotBeChosen) {
  const Values two{1, 2};
  EXPECT_THROW(median_choice(two, Values{1}, 1), std::invalid_argument);
  EXPECT_THROW(median_choice(two, two, 0), std::invalid_argument);
  EXPECT_THROW(median_choice(two, two, 3), std::invalid_argument);
  const Values none{1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(median_choice(two, none, 1), std::invalid_argument);
  EXPECT_THROW(median_choice(none, two, 1), std::invalid_argument);
}

TEST(BestOf, SizesOfACurveEndWithTheGrid) {
  EXPECT_EQ(draw_sizes(0), std::vector<std::size_t>{});
  EXPECT_EQ(draw_sizes(1), (std::vector<std::size_t>{1}));
  EXPECT_EQ(draw_sizes(10), (std::vector<std::size_t>{1, 2, 3, 5, 7, 10}));
  EXPECT_EQ(draw_sizes(36), (std::vector<std::size_t>{1, 2, 3, 5, 7, 10, 20, 30, 36}));
  EXPECT_EQ(draw_sizes(900).back(), 900U);
}

/// Numbers a hundredth apart, so that ties are common.
Values some_values(std::size_t least, int most_count = 40) {
  const auto count = *rc::gen::inRange<int>(static_cast<int>(least), most_count);
  Values values;
  for (const int value : *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(count),
                                                               rc::gen::inRange(-300, 300))) {
    values.push_back(value / 100.0);
  }
  return values;
}

RC_GTEST_PROP(StatisticsProperty, OppositeValuesHaveTheOppositeS, ()) {
  const Values values = some_values(2);
  Values negated = values;
  for (double& value : negated) value = -value;
  const Summary a = summarize(values);
  const Summary b = summarize(negated);
  RC_ASSERT(std::abs(*a.s + *b.s - 1) < 1e-12);
  RC_ASSERT(std::abs(*a.p - *b.p) < 1e-12);
  RC_ASSERT(*a.mean == -*b.mean);
}

RC_GTEST_PROP(StatisticsProperty, TheIntervalHoldsZeroWhereTheTestKeepsIt, ()) {
  const Summary summary = summarize(some_values(2));
  if (*summary.p > 0 && *summary.p < 1 && std::abs(*summary.p - 0.05) > 1e-9) {
    const auto [low, high] = *summary.interval;
    RC_ASSERT((low <= 0 && 0 <= high) == (*summary.p > 0.05));
  }
}

RC_GTEST_PROP(HolmProperty, KeepsTheOrderAndNeverLowers, ()) {
  Maybes p;
  for (const int value : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-5, 101))) {
    p.push_back(value < 0 ? std::nullopt : std::optional(value / 100.0));
  }
  const Maybes adjusted = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    RC_ASSERT(adjusted[i].has_value() == p[i].has_value());
    if (!p[i]) continue;
    RC_ASSERT(*adjusted[i] >= *p[i] && *adjusted[i] <= 1);
    for (std::size_t j = 0; j < p.size(); ++j) {
      if (p[j] && *p[i] <= *p[j]) RC_ASSERT(*adjusted[i] <= *adjusted[j]);
    }
  }
}

RC_GTEST_PROP(BestOfProperty, FallsFromTheMeanToTheLeast, ()) {
  const Values values = some_values(1, 200);
  std::vector<std::size_t> draws(values.size());
  std::iota(draws.begin(), draws.end(), std::size_t{1});
  const std::vector<BestOf> curve = best_of(values, draws);
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  RC_ASSERT(std::abs(curve.front().expected - mean) < 1e-12);
  RC_ASSERT(curve.back().expected == *std::min_element(values.begin(), values.end()));
  for (std::size_t i = 0; i < curve.size(); ++i) {
    RC_ASSERT(curve[i].low <= curve[i].median);
    RC_ASSERT(curve[i].median <= curve[i].high);
    if (i == 0) continue;
    RC_ASSERT(curve[i].expected <= curve[i - 1].expected + 1e-12);
    RC_ASSERT(curve[i].low <= curve[i - 1].low);
    RC_ASSERT(curve[i].median <= curve[i - 1].median);
    RC_ASSERT(curve[i].high <= curve[i - 1].high);
  }
}

}  // namespace
}  // namespace tandem::study
