// SPDX-License-Identifier: MIT
// Softmax (multinomial logistic) regression on a dense or sparse data set: cross entropy, or another
// loss, + lambda/2 |w|^2. A member's weights are a matrix with a row a class. Two classes are two
// rows, as in the paper.
#pragma once

#include <tandem/problem.h>

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "problems/loss.h"

namespace tandem::problems {

class SoftmaxRegression : public Problem {
 public:
  SoftmaxRegression(std::shared_ptr<const data::Task> task, double lambda,
                    Loss loss = Loss::cross_entropy);

  std::vector<std::size_t> segments() const override;
  std::size_t samples() const override { return task_->train.rows; }
  std::size_t validation_samples() const override {
    return task_->validation ? task_->validation->rows : 0;
  }
  double lambda() const override { return lambda_; }
  std::string description() const override;
  bool classifies() const override { return true; }
  std::unique_ptr<Batch> batch(Part part, std::span<const std::uint32_t> rows) const override;

  const data::Task& task() const { return *task_; }

 private:
  std::shared_ptr<const data::Task> task_;
  double lambda_;
  Loss loss_;
  bool mostly_zeros_;  // then batches have sparse products, whichever way the data are stored
};

/// A batch of a model that is linear in its weights: its gradient is a sum of samples with a
/// coefficient for each class, which is what SAGA's table can hold in place of whole gradients.
class LinearBatch : public Batch {
 public:
  virtual std::size_t classes() const = 0;
  /// coefficients[c * row + n] = the loss by logit c of sample n, / samples; row() apart. Of cross
  /// entropy that is softmax - one-hot label.
  virtual std::size_t row() const = 0;
  virtual double coefficients(const float* weights, float* coefficients) const = 0;
  /// gradient = sum over n of coefficients[c][n] x_n.
  virtual void spread(const float* coefficients, float* gradient) const = 0;
};

}  // namespace tandem::problems
