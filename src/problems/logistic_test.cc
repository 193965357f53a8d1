// SPDX-License-Identifier: MIT
// Tests of the small logistic regression.
#include "problems/logistic.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "problems/test_objective.h"

namespace tandem::problems {
namespace {

TEST(Logistic, gradient_matches_differences) {
  for (const std::size_t d : {1, 3, 10}) {
    const Logistic problem({.dimension = d});
    expect_gradient_matches_differences(problem, problem.start(), 1e-9);
    expect_gradient_matches_differences(problem, std::vector<double>(d), 1e-9);
  }
}

TEST(Logistic, optimum_has_no_gradient) {
  for (const std::uint64_t seed : {1, 2, 3}) expect_optimum(Logistic({.seed = seed}), 1e-12);
  expect_optimum(Logistic({.dimension = 1, .samples = 7}), 1e-12);
  expect_optimum(Logistic({.l2 = 1e-4}), 1e-12);
}

// At 0 every sample costs log 2; the data must be worth learning and impossible to separate.
TEST(Logistic, optimum_loss_is_between_guessing_and_nothing) {
  const Logistic problem;
  EXPECT_NEAR(problem.loss(std::vector<double>(10)), std::log(2.0), 1e-13);
  EXPECT_LT(problem.optimum_loss(), 0.6);
  EXPECT_GT(problem.optimum_loss(), 0.1);
}

TEST(Logistic, loss_and_gradient_survive_large_weights) {
  const Logistic problem;
  const std::vector<double> w(10, 1e4);
  std::vector<double> g(10);
  problem.gradient(w, g);
  EXPECT_TRUE(std::isfinite(problem.loss(w)));
  for (const double value : g) EXPECT_TRUE(std::isfinite(value));
}

TEST(Logistic, mini_batch_gradient_is_unbiased) { expect_stochastic_gradient(Logistic(), 0.02); }

TEST(Logistic, refuses_impossible_options) {
  EXPECT_THROW(Logistic({.dimension = 0}), std::invalid_argument);
  EXPECT_THROW(Logistic({.samples = 0}), std::invalid_argument);
  EXPECT_THROW(Logistic({.batch = 0}), std::invalid_argument);
  EXPECT_THROW(Logistic({.l2 = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace tandem::problems
