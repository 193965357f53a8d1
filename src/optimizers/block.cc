// SPDX-License-Identifier: MIT
// Block-TO's estimator: Full-TO on each block of coordinates. A row's prediction, correction and
// update need that row alone, so that each row is read and written once a step. Also Full-TO itself
// where the whole matrix is small.
#include <tandem/errors.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "kernels/kernels.h"
#include "optimizers/estimator.h"

namespace tandem {
namespace {

/// Matrix elements that a thread must have to be worth waking.
constexpr std::size_t kElementsPerThread = std::size_t{1} << 17;

template <class T>
class Block : public TrainableEstimator<T> {
 public:
  Block(const detail::TrainableSpec& spec, std::size_t dimension, std::size_t block,
        StateOwner owner)
      : TrainableEstimator<T>(spec),
        dimension_(dimension),
        block_(std::min(block, dimension)),
        blocks_((dimension + block_ - 1) / block_),
        matrix_((blocks_ - 1) * block_ * block_ + size(blocks_ - 1) * size(blocks_ - 1), owner),
        b_(dimension, owner),
        weights_(dimension),
        gradient_(dimension),
        estimate_(dimension),
        sums_(blocks_ == 1 ? dimension : blocks_) {}

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::given; }

  void ready(const Step<T>& step, const GatheredSums&, kernels::PassScalars<T>&) override {
    flatten_weights(step, weights_.data());
    flatten_gradient(step, gradient_.data());
    std::fill(sums_.begin(), sums_.end(), kernels::PassSums{});
    if (blocks_ == 1) {
      const kernels::BlockRates<T> rates = learn_rates(step, 0, &sums_[0].delta);
      parallel_ranges(step.executor, dimension_, kElementsPerThread / dimension_ + 1,
                      [&](std::size_t first, std::size_t last) {
                        for (std::size_t i = first; i < last; ++i) learn(0, i, 1, rates, sums_[i]);
                      });
    } else {
      parallel_ranges(step.executor, blocks_, kElementsPerThread / (block_ * block_) + 1,
                      [&](std::size_t first, std::size_t last) {
                        for (std::size_t k = first; k < last; ++k) {
                          const kernels::BlockRates<T> rates =
                              learn_rates(step, k, &sums_[k].delta);
                          learn(k, 0, size(k), rates, sums_[k]);
                        }
                      });
    }
    kernels::PassSums total;
    for (const kernels::PassSums& sums : sums_) {
      total.residual2 += sums.residual2;
      total.gradient2 += sums.gradient2;
      total.delta = std::max(total.delta, sums.delta);
    }
    this->set_norms(total.residual2, total.gradient2);
    this->last_.delta = total.delta;
  }

  const T* estimate() const override { return estimate_.data(); }
  std::size_t state_bytes() const override { return matrix_.bytes() + b_.bytes(); }
  std::size_t workspace_bytes() const override {
    return weights_.bytes() + gradient_.bytes() + estimate_.bytes() +
           sums_.size() * sizeof(kernels::PassSums);
  }
  void scalars(StateVisitor& visitor) override {
    visit_diagnostics(visitor, this->last_);
    std::uint64_t block = block_;
    visitor.count("block", block);
    if (block != block_) {
      throw StateError("Invalid state: its blocks have " + std::to_string(block) +
                       " coordinates, expected " + std::to_string(block_));
    }
  }
  void arrays(StateVisitor& visitor) override {
    visitor.array("A", matrix_);
    visitor.array("b", b_);
  }
  void start() override {
    matrix_.start_from(this->spec().initial_a);
    b_.start_from(this->spec().initial_b);
  }

 private:
  std::size_t size(std::size_t k) const { return std::min(block_, dimension_ - k * block_); }

  kernels::BlockRates<T> learn_rates(const Step<T>& step, std::size_t k, double* delta) const {
    const T* w = weights_.data() + k * block_;
    const auto gain = this->gain(step, kernels_.dot(w, w, size(k)));
    *delta = gain.delta;
    return {static_cast<T>(gain.alpha), static_cast<T>(gain.beta), static_cast<T>(gain.delta)};
  }

  void learn(std::size_t k, std::size_t row, std::size_t rows, const kernels::BlockRates<T>& rates,
             kernels::PassSums& sums) {
    const std::size_t start = k * block_;
    T* matrix = matrix_.data() + start * block_ + row * size(k);
    kernels_.learn_rows(matrix, size(k), weights_.data() + start, gradient_.data() + start + row,
                        b_.data() + start + row, estimate_.data() + start + row, rows, size(k),
                        rates, &sums);
  }

  const kernels::Kernels<T>& kernels_ = kernels::kernels<T>();
  std::size_t dimension_;
  std::size_t block_;
  std::size_t blocks_;
  StateArray<T> matrix_;  // block after block, each row by row
  StateArray<T> b_;
  Buffer<T> weights_;
  Buffer<T> gradient_;
  Buffer<T> estimate_;
  std::vector<kernels::PassSums> sums_;  // a block each; a row each where there is one block
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_block(const detail::TrainableSpec& spec, std::size_t dimension,
                                         std::size_t block, StateOwner owner) {
  return std::make_unique<Block<T>>(spec, dimension, block, owner);
}
template std::unique_ptr<Estimator<float>> make_block(const detail::TrainableSpec&, std::size_t,
                                                      std::size_t, StateOwner);
template std::unique_ptr<Estimator<double>> make_block(const detail::TrainableSpec&, std::size_t,
                                                       std::size_t, StateOwner);

}  // namespace tandem
