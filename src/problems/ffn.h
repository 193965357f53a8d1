// SPDX-License-Identifier: MIT
// A feed-forward net with ReLU units on a dense or sparse data set: cross entropy, or another loss, +
// lambda/2 |w|^2.
// Each layer's weights are a matrix with a row a unit; its last column is the bias.
#pragma once

#include <tandem/problem.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "problems/loss.h"

namespace tandem::problems {

/// One layer: units = relu(weights (inputs; 1)), the last one without relu.
struct Layer {
  std::size_t inputs = 0;  // without the bias
  std::size_t units = 0;
  bool bias = true;

  std::size_t columns() const { return inputs + (bias ? 1 : 0); }
  std::size_t size() const { return units * columns(); }
};

class FeedForward : public Problem {
 public:
  /// `hidden` are the widths between the features and the classes; none makes it softmax
  /// regression. `input_bias` gives the first layer a bias: for data that do not have a column of
  /// ones already. Throws std::invalid_argument for a width of 0.
  FeedForward(std::shared_ptr<const data::Task> task, std::vector<std::size_t> hidden,
              double lambda, bool input_bias, Loss loss = Loss::cross_entropy);

  /// One a layer.
  std::vector<std::size_t> segments() const override;
  std::size_t samples() const override { return task_->train.rows; }
  std::size_t validation_samples() const override {
    return task_->validation ? task_->validation->rows : 0;
  }
  double lambda() const override { return lambda_; }
  std::string description() const override;
  bool classifies() const override { return true; }
  std::unique_ptr<Batch> batch(Part part, std::span<const std::uint32_t> rows) const override;

  const std::vector<Layer>& layers() const { return layers_; }

 private:
  std::shared_ptr<const data::Task> task_;
  double lambda_;
  Loss loss_;
  bool mostly_zeros_;  // then the first layer has sparse products
  std::vector<Layer> layers_;
};

}  // namespace tandem::problems
