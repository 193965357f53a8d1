// SPDX-License-Identifier: MIT
#include "problems/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/float_environment.h"
#include "kernels/kernels.h"
#include "problems/nonzeros.h"
#include "problems/require_features.h"

namespace tandem::problems {
namespace {

const kernels::Kernels<float>& simd() { return kernels::kernels<float>(); }

/// Room that a thread keeps from call to call.
float* scratch(std::size_t size) {
  static thread_local std::vector<float> room;
  if (room.size() < size) room.resize(size);
  return room.data();
}

std::vector<std::uint32_t> labels_of(const data::Dataset& data,
                                     std::span<const std::uint32_t> rows) {
  std::vector<std::uint32_t> labels;
  labels.reserve(rows.size());
  for (const std::uint32_t row : rows) labels.push_back(data.labels[row]);
  return labels;
}

/// The parts that do not depend on how features are stored: softmax, losses, members one after
/// another.
class SoftmaxBatch : public LinearBatch {
 public:
  SoftmaxBatch(const data::Dataset& data, std::span<const std::uint32_t> rows, Loss loss)
      : data_(data),
        loss_(loss_kernels(loss)),
        labels_(labels_of(data, rows)),
        row_((rows.size() + simd().panel_width() - 1) / simd().panel_width() *
             simd().panel_width()) {}

  std::size_t classes() const override { return data_.classes; }
  std::size_t row() const override { return row_; }

  void gradients(std::size_t members, const float* weights, float* gradients,
                 double* rough_losses) const override {
    const FlushDenormals flush;  // a saturated softmax is full of them
    float* logits = scratch(members * classes() * row_);
    forward(members * classes(), weights, logits);
    for (std::size_t m = 0; m < members; ++m) {
      rough_losses[m] = to_coefficients(logits + m * classes() * row_);
    }
    backward(members * classes(), logits, gradients);
  }

  void losses(std::size_t members, const float* weights, LossSum* losses) const override {
    const FlushDenormals flush;
    float* logits = scratch(members * classes() * row_);
    forward(members * classes(), weights, logits);
    for (std::size_t m = 0; m < members; ++m) {
      const kernels::SoftmaxLoss sum =
          loss_.sum(logits + m * classes() * row_, row_, classes(), labels_.data(), labels_.size());
      losses[m] = {sum.loss, sum.correct};
    }
  }

  double coefficients(const float* weights, float* coefficients) const override {
    const FlushDenormals flush;
    forward(classes(), weights, coefficients);
    return to_coefficients(coefficients);
  }
  void spread(const float* coefficients, float* gradient) const override {
    const FlushDenormals flush;
    backward(classes(), coefficients, gradient);
  }

 protected:
  /// logits[i * row() + n] = weights_i . x_n for `count` rows of weights.
  virtual void forward(std::size_t count, const float* weights, float* logits) const = 0;
  /// gradients_i = sum over n of coefficients[i * row() + n] x_n.
  virtual void backward(std::size_t count, const float* coefficients, float* gradients) const = 0;

  const data::Dataset& data_;

 private:
  double to_coefficients(float* logits) const {
    const auto samples = static_cast<double>(labels_.size());
    return loss_.gradient(logits, row_, classes(), labels_.data(), labels_.size(),
                          static_cast<float>(1 / samples)) /
           samples;
  }

  LossKernels loss_;
  std::vector<std::uint32_t> labels_;
  std::size_t row_;
};

class DenseBatch : public SoftmaxBatch {
 public:
  DenseBatch(const data::Dataset& data, std::span<const std::uint32_t> rows, Loss loss)
      : SoftmaxBatch(data, rows, loss),
        by_feature_(kernels::packed_size(simd(), data.features, rows.size())) {
    for (const std::uint32_t row : rows)
      samples_.push_back(data.dense.data() + row * data.features);
    simd().pack_transposed(samples_.data(), samples_.size(), data.features, by_feature_.data());
  }

 protected:
  void forward(std::size_t count, const float* weights, float* logits) const override {
    simd().product(count, row(), data_.features, weights, data_.features, 1, by_feature_.data(),
                   logits, row());
  }

  void backward(std::size_t count, const float* coefficients, float* gradients) const override {
    // Losses do not need it, so it is made when the first gradient is asked for.
    std::call_once(packed_, [this] {
      by_sample_.resize(kernels::packed_size(simd(), samples_.size(), data_.features));
      simd().pack(samples_.data(), samples_.size(), data_.features, by_sample_.data());
    });
    simd().product(count, data_.features, samples_.size(), coefficients, row(), 1,
                   by_sample_.data(), gradients, data_.features);
  }

 private:
  std::vector<const float*> samples_;
  std::vector<float> by_feature_;
  mutable std::once_flag packed_;
  mutable std::vector<float> by_sample_;
};

/// Costs time in proportion to the non-zeros; only the gradient itself is dense.
class SparseBatch : public SoftmaxBatch {
 public:
  SparseBatch(const data::Dataset& data, std::span<const std::uint32_t> rows, Loss loss)
      : SoftmaxBatch(data, rows, loss), nonzeros_(data, rows) {}

 protected:
  void forward(std::size_t count, const float* weights, float* logits) const override {
    nonzeros_.forward(count, weights, logits, row());
  }

  void backward(std::size_t count, const float* coefficients, float* gradients) const override {
    nonzeros_.backward(count, coefficients, row(), gradients);
  }

 private:
  Nonzeros nonzeros_;
};

}  // namespace

SoftmaxRegression::SoftmaxRegression(std::shared_ptr<const data::Task> task, double lambda,
                                     Loss loss)
    : task_(std::move(task)), lambda_(lambda), loss_(loss) {
  require_features(task_->train);
  mostly_zeros_ = mostly_zeros(task_->train);
}

std::vector<std::size_t> SoftmaxRegression::segments() const {
  return {task_->train.classes * task_->train.features};
}

std::string SoftmaxRegression::description() const {
  return fmt::format("softmax regression, {} x {}{}{}", task_->train.features, task_->train.classes,
                     task_->train.sparse ? ", sparse" : "", loss_note(loss_, task_->train.classes));
}

std::unique_ptr<Batch> SoftmaxRegression::batch(Part part,
                                                std::span<const std::uint32_t> rows) const {
  const data::Dataset& data = part == Part::train ? task_->train : *task_->validation;
  if (mostly_zeros_) return std::make_unique<SparseBatch>(data, rows, loss_);
  return std::make_unique<DenseBatch>(data, rows, loss_);
}

}  // namespace tandem::problems
