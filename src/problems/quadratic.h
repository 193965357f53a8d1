// SPDX-License-Identifier: MIT
// A rotated quadratic bowl with given eigenvalues: the problem on which everything is known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problems/objective.h"

namespace tandem::problems {

struct QuadraticOptions {
  std::vector<double> eigenvalues;
  std::uint64_t seed = 1;
  double scale = 1;  // of the optimum's and the start's coordinates, which are uniform in [-1, 1)
  double noise = 0;  // standard deviation of each coordinate of a stochastic gradient
};

/// f(w) = 1/2 (w - w*)^T H (w - w*) with H = Q diag(eigenvalues) Q^T. Q is a product of two
/// reflections, so H is a dense matrix and yet a gradient costs O(d).
class Quadratic : public Objective {
 public:
  explicit Quadratic(QuadraticOptions options);

  std::size_t dimension() const override { return options_.eigenvalues.size(); }
  std::vector<double> start() const override { return start_; }
  double loss(std::span<const double> w) const override;
  void gradient(std::span<const double> w, std::span<double> g) const override;
  void stochastic_gradient(std::span<const double> w, std::uint64_t step,
                           std::span<double> g) const override;
  const std::vector<double>& optimum() const override { return optimum_; }

 private:
  /// g = Q^T (w - w*), the coordinates in which the bowl is axis-parallel.
  void rotate(std::span<const double> w, std::span<double> g) const;

  QuadraticOptions options_;
  std::vector<double> first_mirror_, second_mirror_;  // unit normals of the reflections
  std::vector<double> start_, optimum_;
};

/// `dimension` eigenvalues from `low` to `high` in equal ratios.
std::vector<double> geometric_eigenvalues(std::size_t dimension, double low, double high);

}  // namespace tandem::problems
