// SPDX-License-Identifier: MIT
// What every objective's test asserts: gradients agree with finite differences, stochastic ones with
// their mean, and the optimum is one. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "problems/objective.h"

namespace tandem::problems {

/// Central differences with a step of 1e-5 are good to about 1e-10 times the third derivative.
inline void expect_gradient_matches_differences(const Objective& problem, std::vector<double> w,
                                                double tolerance) {
  std::vector<double> g(problem.dimension());
  problem.gradient(w, g);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double here = w[i], h = 1e-5;
    w[i] = here + h;
    const double above = problem.loss(w);
    w[i] = here - h;
    const double below = problem.loss(w);
    w[i] = here;
    EXPECT_NEAR(g[i], (above - below) / (2 * h), tolerance) << "coordinate " << i;
  }
}

inline void expect_optimum(const Objective& problem, double tolerance) {
  std::vector<double> g(problem.dimension());
  problem.gradient(problem.optimum(), g);
  double square = 0;
  for (const double value : g) square += value * value;
  EXPECT_LT(std::sqrt(square), tolerance);
  EXPECT_LT(problem.optimum_loss(), problem.loss(problem.start()));
  for (std::size_t i = 0; i < problem.dimension(); ++i) {
    std::vector<double> w = problem.optimum();
    w[i] += 1e-3;
    EXPECT_GT(problem.loss(w), problem.optimum_loss());
  }
}

/// The same step gives the same bits, another step other ones, and the mean is the gradient.
inline void expect_stochastic_gradient(const Objective& problem, double tolerance) {
  const std::size_t d = problem.dimension();
  const std::vector<double> w = problem.start();
  std::vector<double> full(d), first(d), g(d), mean(d);
  problem.gradient(w, full);
  problem.stochastic_gradient(w, 1, first);
  problem.stochastic_gradient(w, 1, g);
  EXPECT_EQ(first, g);
  problem.stochastic_gradient(w, 2, g);
  EXPECT_NE(first, g);
  const int count = 20000;
  for (int step = 1; step <= count; ++step) {
    problem.stochastic_gradient(w, static_cast<std::uint64_t>(step), g);
    for (std::size_t i = 0; i < d; ++i) mean[i] += g[i] / count;
  }
  for (std::size_t i = 0; i < d; ++i) EXPECT_NEAR(mean[i], full[i], tolerance);
}

}  // namespace tandem::problems
