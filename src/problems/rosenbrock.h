// SPDX-License-Identifier: MIT
// Rosenbrock's curved valley: easy to enter, slow to follow, optimum at (1, ..., 1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problems/objective.h"

namespace tandem::problems {

struct RosenbrockOptions {
  std::size_t dimension = 2;
  std::uint64_t seed = 1;
  double noise = 0;  // standard deviation of each coordinate of a stochastic gradient
};

/// f(w) = sum_i 100 (w_{i+1} - w_i^2)^2 + (1 - w_i)^2, from (-1.2, 1, -1.2, 1, ...)
/// (H. H. Rosenbrock 1960).
class Rosenbrock : public Objective {
 public:
  explicit Rosenbrock(RosenbrockOptions options = {});

  std::size_t dimension() const override { return options_.dimension; }
  std::vector<double> start() const override;
  double loss(std::span<const double> w) const override;
  void gradient(std::span<const double> w, std::span<double> g) const override;
  void stochastic_gradient(std::span<const double> w, std::uint64_t step,
                           std::span<double> g) const override;
  const std::vector<double>& optimum() const override { return optimum_; }

 private:
  RosenbrockOptions options_;
  std::vector<double> optimum_;
};

}  // namespace tandem::problems
