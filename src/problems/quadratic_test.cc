// SPDX-License-Identifier: MIT
// Tests of the rotated quadratic.
#include "problems/quadratic.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "problems/test_objective.h"

namespace tandem::problems {
namespace {

Quadratic bowl(std::size_t dimension, double noise = 0) {
  return Quadratic(
      {.eigenvalues = geometric_eigenvalues(dimension, 0.1, 10), .seed = 3, .noise = noise});
}

TEST(Quadratic, gradient_matches_differences) {
  for (const std::size_t d : {1, 2, 7, 30}) {
    const Quadratic problem = bowl(d);
    expect_gradient_matches_differences(problem, problem.start(), 1e-8);
    expect_gradient_matches_differences(problem, problem.optimum(), 1e-8);
  }
}

TEST(Quadratic, optimum_is_one) {
  for (const std::size_t d : {1, 2, 7, 30}) {
    expect_optimum(bowl(d), 1e-300);
    EXPECT_EQ(bowl(d).optimum_loss(), 0);
  }
}

TEST(Quadratic, stochastic_gradient_is_unbiased) {
  expect_stochastic_gradient(bowl(5, 0.3), 5 * 0.3 / std::sqrt(20000.0));
}

TEST(Quadratic, stochastic_gradient_without_noise_is_the_gradient) {
  const Quadratic problem = bowl(5);
  std::vector<double> g(5), h(5);
  problem.gradient(problem.start(), g);
  problem.stochastic_gradient(problem.start(), 7, h);
  EXPECT_EQ(g, h);
}

// The Hessian's column i is gradient(w* + e_i): symmetric, with the trace of the eigenvalues, and
// not diagonal.
TEST(Quadratic, hessian_is_a_rotated_diagonal) {
  const std::size_t d = 6;
  const Quadratic problem = bowl(d);
  std::vector<std::vector<double>> h(d, std::vector<double>(d));
  double trace = 0, largest_off_diagonal = 0;
  for (std::size_t i = 0; i < d; ++i) {
    std::vector<double> w = problem.optimum();
    w[i] += 1;
    problem.gradient(w, h[i]);
    trace += h[i][i];
  }
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NEAR(h[i][j], h[j][i], 1e-12);
      largest_off_diagonal = std::max(largest_off_diagonal, std::abs(h[i][j]));
    }
  double sum = 0;
  for (const double value : geometric_eigenvalues(d, 0.1, 10)) sum += value;
  EXPECT_NEAR(trace, sum, 1e-12);
  EXPECT_GT(largest_off_diagonal, 0.1);
}

TEST(Quadratic, geometric_eigenvalues_reach_both_ends) {
  const std::vector<double> values = geometric_eigenvalues(5, 0.01, 100);
  EXPECT_NEAR(values.front(), 0.01, 1e-15);
  EXPECT_NEAR(values[2], 1, 1e-12);
  EXPECT_NEAR(values.back(), 100, 1e-10);
}

TEST(Quadratic, refuses_no_eigenvalues) {
  EXPECT_THROW(Quadratic(QuadraticOptions{}), std::invalid_argument);
}

}  // namespace
}  // namespace tandem::problems
