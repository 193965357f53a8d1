// SPDX-License-Identifier: MIT
// Choices by the other seeds on made errors.
#include "paper/estimator_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace tandem::paper {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<EstimatorSetting> kSettings = {
    {"diag-to", 0, 0.1},    {"diag-to", 0, 0.5},   {"diag-to", 0.01, 0.1},
    {"diag-to", 0.01, 0.5}, {"diag-to", 0.1, 0.1}, {"diag-to", 0.1, 0.5},
};

/// One epoch; the batch's error is 10.
TrajectoryErrors seed_of(const std::vector<double>& errors) {
  return {.epochs = {{.gradient = 5, .batch = 10, .estimators = errors}}, .weights = {}};
}

TEST(EstimatorComparison, EachSeedIsScoredAtWhatTheOthersChoose) {
  // alpha = 0: beta = 0.1 is best on all. alpha > 0: on the last seed another is best.
  const std::vector<TrajectoryErrors> seeds = {
      seed_of({2, 9, 1, 9, 8, 9}), seed_of({2, 9, 1, 9, 8, 9}), seed_of({2, 9, 4, 0.5, 8, 9})};
  const auto comparisons = compare_estimators(kSettings, seeds);
  ASSERT_EQ(comparisons.size(), 2U);  // all epochs, the first
  const EstimatorComparison& all = comparisons[0];
  EXPECT_EQ(all.rule, "diag-to");
  EXPECT_FALSE(all.epoch);
  EXPECT_EQ(comparisons[1].epoch, 1U);
  EXPECT_EQ(all.seeds, 3U);
  EXPECT_DOUBLE_EQ(all.gradient, 0.5);
  EXPECT_EQ(all.without.setting, kSettings[0]);
  EXPECT_EQ(all.without.agreeing, 3U);
  EXPECT_NEAR(*all.without.ratio, 0.2, 1e-15);
  EXPECT_FALSE(all.without.alpha_at_edge);  // there is one alpha
  EXPECT_TRUE(all.without.beta_at_edge);
  // The sums of logs: setting 2 has log 4, setting 3 log 40.5.
  EXPECT_EQ(all.with.setting, kSettings[2]);
  // Without the first or second: log 1 + log 4 against log 9 + log 0.5.
  EXPECT_EQ(all.with.agreeing, 3U);
  EXPECT_TRUE(all.with.alpha_at_edge);
  // Scored at setting 2 everywhere: 1, 1, 4 against 2.
  EXPECT_NEAR(*all.log_quotient.mean, (std::log(0.5) + std::log(0.5) + std::log(2)) / 3, 1e-12);
  ASSERT_TRUE(all.log_quotient.interval);
  EXPECT_GT((*all.log_quotient.interval)[1], 0);
}

TEST(EstimatorComparison, ALuckySeedDoesNotChooseForItself) {
  const std::vector<TrajectoryErrors> seeds = {
      seed_of({2, 9, 3, 4, 9, 9}), seed_of({2, 9, 3, 4, 9, 9}), seed_of({2, 9, 3, 0.001, 9, 9})};
  const EstimatorComparison all = compare_estimators(kSettings, seeds).front();
  EXPECT_EQ(all.with.setting, kSettings[3]);  // by the mean over all
  EXPECT_EQ(all.with.agreeing, 2U);
  // On the first two the third chooses setting 3; on the third they choose setting 2.
  EXPECT_NEAR(*all.log_quotient.mean, (2 * std::log(4.0 / 2) + std::log(3.0 / 2)) / 3, 1e-12);
}

TEST(EstimatorComparison, DivergedSettingsAreNotChosenUnlessTheOthersDoNotKnow) {
  const std::vector<TrajectoryErrors> seeds = {seed_of({2, 9, 1, 9, 8, kInfinity}),
                                               seed_of({2, 9, 1, 9, 8, 9}),
                                               seed_of({2, 9, kInfinity, 9, 8, 9})};
  const EstimatorComparison all = compare_estimators(kSettings, seeds).front();
  EXPECT_EQ(all.with.setting, kSettings[4]);
  EXPECT_EQ(all.with.agreeing, 2U);
  EXPECT_EQ(all.with.diverged, 1U);  // on the third, where the others choose setting 2
  EXPECT_FALSE(all.with.ratio);
  EXPECT_FALSE(all.log_quotient.mean);
  EXPECT_TRUE(all.without.ratio);
}

TEST(EstimatorComparison, EpochsAreSummedUpAndComparedApart) {
  std::vector<TrajectoryErrors> seeds(2);
  for (TrajectoryErrors& seed : seeds) {
    seed.epochs = {{.gradient = 1, .batch = 30, .estimators = {3, 9}},
                   {.gradient = 1, .batch = 10, .estimators = {1, 0.5}}};
  }
  const std::vector<EstimatorSetting> settings = {{"diag-to", 0, 0.1}, {"ro-to", 0.1, 0.1}};
  const auto comparisons = compare_estimators(settings, seeds);
  ASSERT_EQ(comparisons.size(), 3U);
  EXPECT_NEAR(*comparisons[0].without.ratio, 0.1, 1e-15);
  EXPECT_NEAR(std::exp(*comparisons[0].log_quotient.mean), 9.5 / 4, 1e-12);
  EXPECT_NEAR(std::exp(*comparisons[2].log_quotient.mean), 0.5, 1e-12);
}

TEST(EstimatorComparison, TheProfileHasTheBestBetaOfEachAlpha) {
  const std::vector<TrajectoryErrors> seeds = {seed_of({2, 9, 1, 9, 8, kInfinity}),
                                               seed_of({2, 9, 4, 9, kInfinity, 9})};
  const auto profile = profile_alphas(kSettings, seeds);
  ASSERT_EQ(profile.size(), 3U);
  EXPECT_EQ(profile[0].setting, kSettings[0]);
  EXPECT_NEAR(*profile[0].ratio, 0.2, 1e-15);
  EXPECT_EQ(profile[1].setting, kSettings[2]);
  EXPECT_NEAR(*profile[1].ratio, 0.2, 1e-15);
  EXPECT_FALSE(profile[2].ratio);
}

TEST(EstimatorComparison, WhatCannotBeComparedIsNamed) {
  const auto message = [](const std::vector<EstimatorSetting>& settings,
                          const std::vector<TrajectoryErrors>& seeds) -> std::string {
    try {
      compare_estimators(settings, seeds);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(message(kSettings, {seed_of({1, 1, 1, 1, 1, 1})}).find("1 seeds, expected 2 or more"),
            std::string::npos);
  const std::vector<EstimatorSetting> learning = {{"ro-to", 0.1, 0.1}};
  EXPECT_NE(message(learning, {seed_of({1}), seed_of({1})}).find("no setting has alpha = 0"),
            std::string::npos);
  std::vector<TrajectoryErrors> still = {seed_of({1, 1, 1, 1, 1, 1}), seed_of({1, 1, 1, 1, 1, 1})};
  still[1].epochs[0].batch = 0;
  EXPECT_NE(message(kSettings, still).find("have no error"), std::string::npos);
}

}  // namespace
}  // namespace tandem::paper
