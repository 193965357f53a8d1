// SPDX-License-Identifier: MIT
// A small logistic regression on synthetic data, with the optimum found by Newton's method.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problems/objective.h"

namespace tandem::problems {

struct LogisticOptions {
  std::size_t dimension = 10;
  std::size_t samples = 200;
  std::size_t batch = 20;  // of a stochastic gradient, drawn with replacement
  double l2 = 0.01;        // more than 0, so that there is one optimum
  std::uint64_t seed = 1;
};

/// f(w) = mean_n log(1 + exp(-y_n x_n.w)) + l2/2 |w|^2. Features are normal, their scales fall from
/// 1.5 to 0.5; a tenth of the labels is wrong, so that the data cannot be separated.
class Logistic : public Objective {
 public:
  explicit Logistic(LogisticOptions options = {});

  std::size_t dimension() const override { return options_.dimension; }
  /// Standard normal, as the paper starts its logistic regressions.
  std::vector<double> start() const override;
  double loss(std::span<const double> w) const override;
  void gradient(std::span<const double> w, std::span<double> g) const override;
  /// The gradient on the step's mini-batch.
  void stochastic_gradient(std::span<const double> w, std::uint64_t step,
                           std::span<double> g) const override;
  /// |gradient| < 1e-12 here.
  const std::vector<double>& optimum() const override { return optimum_; }

 private:
  std::span<const double> row(std::size_t n) const;
  /// y_n x_n.w
  double margin(std::size_t n, std::span<const double> w) const;
  /// g += scale * the gradient of sample n's loss.
  void add_sample_gradient(std::size_t n, double scale, std::span<const double> w,
                           std::span<double> g) const;
  std::vector<double> newton_step(std::span<const double> w, std::vector<double> g) const;

  LogisticOptions options_;
  std::vector<double> features_;  // samples x dimension
  std::vector<double> labels_;    // -1 or 1
  std::vector<double> optimum_;
};

}  // namespace tandem::problems
