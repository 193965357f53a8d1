// SPDX-License-Identifier: MIT
// What is certified of robust regression, held against numbers.
#include "paper/theory_robust.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "base/random.h"

namespace tandem::theory {
namespace {

using Point = std::vector<double>;

double norm(const Point& x) { return std::hypot(x[0], x[1]); }
Point difference(const Point& x, const Point& y) { return {x[0] - y[0], x[1] - y[1]}; }

Point gradient_at(const RobustRegression& problem, const Point& w) {
  Point g(w.size());
  problem.gradient(w, g);
  return g;
}

Point drawn_at(const RobustRegression& problem, const Point& w, std::uint64_t step) {
  Point g(w.size());
  problem.stochastic_gradient(w, step, g);
  return g;
}

/// Anywhere in the ball, in most cases where the loss is not flat.
Point any_point(Random& random, const Facts& facts) {
  const double radius = facts.D_w * std::pow(random.uniform(), 2);
  const double angle = 2 * std::numbers::pi * random.uniform();
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

TEST(TheoryRobust, GradientsAreThoseOfTheLoss) {
  const RobustRegression problem;
  Random random(1, 1);
  for (int trial = 0; trial < 50; ++trial) {
    const Point w = any_point(random, problem.facts());
    const Point g = gradient_at(problem, w);
    for (std::size_t i = 0; i < w.size(); ++i) {
      Point up = w;
      Point down = w;
      up[i] += 1e-5;
      down[i] -= 1e-5;
      EXPECT_NEAR((problem.loss(up) - problem.loss(down)) / 2e-5, g[i], 1e-9);
    }
  }
}

TEST(TheoryRobust, BatchesHaveTheGradientAsTheirMean) {
  const RobustRegression problem({.batch = 4, .seed = 3});
  const Point w = problem.start();
  const Point g = gradient_at(problem, w);
  constexpr int kDraws = 40'000;
  Point mean(w.size());
  double variance = 0;
  for (int step = 1; step <= kDraws; ++step) {
    const Point drawn = drawn_at(problem, w, static_cast<std::uint64_t>(step));
    const double error = norm(difference(drawn, g));
    variance += error * error / kDraws;
    for (std::size_t i = 0; i < w.size(); ++i) mean[i] += drawn[i] / kDraws;
  }
  EXPECT_NEAR(mean[0], g[0], 2e-3);
  EXPECT_NEAR(mean[1], g[1], 2e-3);
  EXPECT_LE(variance, *problem.facts().D_V);
  EXPECT_EQ(drawn_at(problem, w, 7), drawn_at(RobustRegression({.batch = 4, .seed = 3}), w, 7));
  EXPECT_NE(drawn_at(problem, w, 7), drawn_at(problem, w, 8));
}

TEST(TheoryRobust, ConstantsHoldAtRandomPointsOfTheBall) {
  const RobustRegression problem({.batch = 1});
  const Facts facts = problem.facts();
  EXPECT_TRUE(check(facts, certified_rates(facts)).empty());
  Random random(5, 1);
  double steepest = 0;
  double sharpest = 0;
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const Point v = any_point(random, facts);
    // Far apart, and so close that the quotient is a second derivative.
    Point w = any_point(random, facts);
    if (step % 2 == 0) w = {v[0] + 1e-5 * random.normal(), v[1] + 1e-5 * random.normal()};
    const Point at_v = drawn_at(problem, v, step);
    const Point at_w = drawn_at(problem, w, step);
    const double ratio = norm(difference(at_v, at_w)) / norm(difference(v, w));
    EXPECT_LE(norm(at_v), facts.D_G * (1 + 1e-12));
    EXPECT_LE(ratio, facts.L * (1 + 1e-9));
    EXPECT_LE(problem.loss(problem.start()) - problem.loss(v), *facts.D_F);
    steepest = std::max(steepest, norm(at_v));
    sharpest = std::max(sharpest, ratio);
  }
  // Neither bound is idle: some row comes close to both.
  EXPECT_GE(steepest, 0.99 * facts.D_G);
  EXPECT_GE(sharpest, 0.95 * facts.L);
}

TEST(TheoryRobust, TheOptimumIsOneAndFIsNotConvex) {
  const RobustRegression problem;
  const Point& best = problem.optimum();
  EXPECT_NEAR(norm(best), 1, 1e-15);
  EXPECT_LE(norm(gradient_at(problem, best)), 1e-15);
  Random random(6, 1);
  for (int trial = 0; trial < 10'000; ++trial) {
    EXPECT_GE(problem.loss(any_point(random, problem.facts())), problem.optimum_loss());
  }
  // From the start F curves downwards in one direction and upwards in another.
  double least = 1;
  double greatest = -1;
  const Point w = problem.start();
  EXPECT_NEAR(norm(w), 0.2, 1e-15);
  for (int k = 0; k < 64; ++k) {
    const double angle = std::numbers::pi * k / 64;
    const double x = 1e-3 * std::cos(angle);
    const double y = 1e-3 * std::sin(angle);
    const double curvature = (problem.loss(Point{w[0] + x, w[1] + y}) +
                              problem.loss(Point{w[0] - x, w[1] - y}) - 2 * problem.loss(w)) /
                             1e-6;
    least = std::min(least, curvature);
    greatest = std::max(greatest, curvature);
  }
  EXPECT_LT(least, -0.02);
  EXPECT_GT(greatest, 0.02);
}

TEST(TheoryRobust, AnEmptyBatchIsRefused) {
  try {
    RobustRegression problem({.batch = 0});
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "theory: the batch is 0; expected 1 or more rows");
  }
}

}  // namespace
}  // namespace tandem::theory
