// SPDX-License-Identifier: MIT
// Softmax regression in double precision for experiments on the theorems: batches drawn
// independently at each step, and the constants that the theorems speak of.
#pragma once

#include <tandem/executor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "paper/theory.h"
#include "problems/objective.h"

namespace tandem::theory {

enum class Batches {
  independent,  // each drawn with replacement, whatever came before: E g = grad F, as in the proofs
  shuffled      // epochs in random order, without replacement: as one trains, and not as one proves
};

struct SoftmaxOptions {
  double lambda = 0.5;  // more than 0
  std::size_t batch = 4;
  Batches batches = Batches::independent;
  std::uint64_t seed = 1;  // of batches and of the start
};

/// F(w) = mean cross entropy + lambda/2 |w|^2, w a row a class. Features are kept in double.
class Softmax : public problems::Objective {
 public:
  /// Finds the optimum, |grad F| <= 1e-11. Throws std::invalid_argument for sparse data, lambda
  /// <= 0 and an empty batch, std::runtime_error where the optimum is not reached.
  Softmax(const data::Task& task, SoftmaxOptions options, Executor& executor);

  std::size_t dimension() const override { return classes_ * features_; }
  /// At a random point as far from 0 as the optimum.
  std::vector<double> start() const override;
  double loss(std::span<const double> w) const override;
  void gradient(std::span<const double> w, std::span<double> g) const override;
  void stochastic_gradient(std::span<const double> w, std::uint64_t step,
                           std::span<double> g) const override;
  const std::vector<double>& optimum() const override { return optimum_; }

  /// c = lambda, L = lambda + max |x|^2 / 2 (of every batch), D_w = 2 |w*|, D_G = lambda D_w +
  /// sqrt(2) max |x|.
  Facts facts() const;
  /// lambda + the largest eigenvalue of the mean of x x^T / 2: Lipschitz constant of grad F alone.
  double mean_smoothness() const;

 private:
  std::span<const double> row(std::size_t n) const;
  /// logits become softmax - one-hot label; returns the cross entropy.
  double to_coefficients(std::size_t n, std::span<const double> w, std::span<double> logits) const;
  /// g += scale * the gradient of row n's loss.
  void add_row(std::size_t n, double scale, std::span<const double> w, std::span<double> logits,
               std::span<double> g) const;
  double longest_row_squared() const;

  SoftmaxOptions options_;
  std::size_t rows_, features_, classes_;
  std::vector<double> values_;  // rows x features
  std::vector<std::uint32_t> labels_;
  std::vector<double> optimum_;
};

/// Two classes in 10 dimensions, every row of length 1 and a tenth of the labels wrong: with lambda
/// = 1/2 the condition number L / c is 2, and there are 20 weights.
data::Task unit_task(std::size_t rows = 400, std::uint64_t seed = 1);

}  // namespace tandem::theory
