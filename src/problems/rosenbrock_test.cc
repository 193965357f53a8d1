// SPDX-License-Identifier: MIT
// Tests of Rosenbrock's valley.
#include "problems/rosenbrock.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "problems/test_objective.h"

namespace tandem::problems {
namespace {

TEST(Rosenbrock, gradient_matches_differences) {
  for (const std::size_t d : {2, 3, 8}) {
    const Rosenbrock problem({.dimension = d});
    expect_gradient_matches_differences(problem, problem.start(), 1e-4);
    expect_gradient_matches_differences(problem, std::vector<double>(d, 0.3), 1e-5);
  }
}

TEST(Rosenbrock, optimum_is_one) {
  for (const std::size_t d : {2, 3, 8}) {
    const Rosenbrock problem({.dimension = d});
    expect_optimum(problem, 1e-300);
    EXPECT_EQ(problem.optimum_loss(), 0);
  }
}

TEST(Rosenbrock, has_the_textbook_values) {
  const Rosenbrock problem;
  EXPECT_EQ(problem.start(), (std::vector<double>{-1.2, 1}));
  EXPECT_NEAR(problem.loss(problem.start()), 24.2, 1e-12);
  std::vector<double> g(2);
  problem.gradient(problem.start(), g);
  EXPECT_NEAR(g[0], -215.6, 1e-11);
  EXPECT_NEAR(g[1], -88, 1e-12);
}

TEST(Rosenbrock, stochastic_gradient_is_unbiased) {
  expect_stochastic_gradient(Rosenbrock({.noise = 0.5}), 5 * 0.5 / std::sqrt(20000.0));
}

TEST(Rosenbrock, refuses_one_dimension) {
  EXPECT_THROW(Rosenbrock({.dimension = 1}), std::invalid_argument);
}

}  // namespace
}  // namespace tandem::problems
