// SPDX-License-Identifier: MIT
// Robust regression: a function that is not convex, with all the constants of Theorem 2 known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "paper/theory.h"
#include "problems/objective.h"

namespace tandem::theory {

struct RobustOptions {
  std::size_t batch = 4;   // rows drawn independently, with replacement
  std::uint64_t seed = 1;  // of batches; the rows are always the same
};

/// F(w) = mean of f(x.w - y), f(r) = r^2 / (2 (1 + r^2)) (Geman and McClure 1985), over 100 pairs of
/// generated rows: x in 2 dimensions, of length 1, and y = x.w* + 1/4 and x.w* - 1/4, |w*| = 1.
class RobustRegression : public problems::Objective {
 public:
  /// Throws std::invalid_argument for an empty batch.
  explicit RobustRegression(RobustOptions options = {});

  std::size_t dimension() const override { return optimum_.size(); }
  /// -w*/5, where F curves downwards in one direction.
  std::vector<double> start() const override;
  double loss(std::span<const double> w) const override;
  void gradient(std::span<const double> w, std::span<double> g) const override;
  void stochastic_gradient(std::span<const double> w, std::uint64_t step,
                           std::span<double> g) const override;
  /// The least of F anywhere: w*.
  const std::vector<double>& optimum() const override { return optimum_; }

  /// L = max |x|^2, D_G = 3 sqrt(3) / 16 max |x|, D_V = D_G^2 / batch, D_F = F(w_1) - F(w*), and D_w
  /// = 6: the ball is so large that certified rates take more than 10^6 steps to reach it.
  Facts facts() const;

 private:
  std::span<const double> row(std::size_t n) const;
  double residual(std::size_t n, std::span<const double> w) const;
  /// g += scale * the gradient of row n's loss.
  void add_row(std::size_t n, double scale, std::span<const double> w, std::span<double> g) const;

  RobustOptions options_;
  std::vector<double> optimum_;
  std::vector<double> values_;   // x of each pair
  std::vector<double> targets_;  // y of each row; rows 2p and 2p + 1 are pair p
};

}  // namespace tandem::theory
