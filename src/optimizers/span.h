// SPDX-License-Identifier: MIT
// Full-TO's span form: exact, without the d x d matrix.
//
// Started from A = 0, everything lives in the span of a few vectors B_0, B_1, ...: the first
// weights, b_0, and the residuals:
//   A = sum of alpha_j r_j w_j^T,   b = b_0 + sum of beta_j r_j,   w = sum of x_j B_j.
// Kept are the vectors B (in the type of the weights) and in double their products M = B B^T, the
// coefficients x of the weights now and X_j of the weights at each residual, and y = M x. A step
// needs w_j.w = X_j.y, then
//   c_j = alpha_j (w_j.w) + beta_j,   p = sum of c_j B_j,   r = g - p,   G = p + delta r,
// where one read of B gives both p and B g, and B r = B g - M c is the new row of M. If somebody
// else moved the weights, what they are off by becomes one more vector of B. Not for a start from A
// != 0, a box, a scaling, or rates that differ by segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "optimizers/dense.h"
#include "optimizers/estimator.h"
#include "optimizers/history.h"
#include "optimizers/triangle.h"

namespace tandem {

template <class T>
class SpanEstimator : public TrainableEstimator<T> {
 public:
  SpanEstimator(const detail::TrainableSpec& spec, std::size_t dimension, StateOwner owner);

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::given; }
  void prepare(const Step<T>& step) override;
  void ready(const Step<T>& step, const GatheredSums&, kernels::PassScalars<T>& scalars) override;
  const T* estimate() const override { return estimate_.data(); }
  void finish(const Step<T>& step, const Outcome& outcome) override;
  void weights_changed() override { weights_known_ = false; }
  std::size_t state_bytes() const override;
  std::size_t workspace_bytes() const override;
  void arrays(StateVisitor& visitor) override;
  void taken() override;
  void give_back() override;
  void save(StateWriter& writer) const override;
  void load(StateReader& reader) override;

  /// How many vectors B holds.
  std::size_t rows() const { return rows_.size(); }
  /// The same between steps, of state in the caller's memory.
  std::size_t rows_in_memory() const { return rows_in_memory_; }
  /// Puts A and b into the dense form, which is new and empty.
  void move_to(DenseEstimator<T>& dense, Executor& executor) const;

  /// What it remembers beside arrays and diagnostics.
  struct Facts {
    std::uint64_t rows = 0;  // vectors in B
    bool weights_known = false;
    std::uint64_t weights_hash = 0;
    void visit(StateVisitor& visitor, std::uint64_t most_rows);
  };
  Facts facts() const { return {rows_.size(), weights_known_, weights_hash_}; }
  /// For state in the caller's memory: arrays() then has the parts for so many vectors and those
  /// that a step may add.
  void set_facts(const Facts& facts);
  /// More vectors than this no memory holds.
  std::uint64_t most_rows() const;

 private:
  /// Room for `more` vectors of B and all that a step needs with them.
  void make_room_for(std::size_t more);
  /// Room for one more vector of B.
  T* new_row();
  std::size_t chunks_for(std::size_t rows) const {
    return (rows + rows_per_chunk_ - 1) / rows_per_chunk_;
  }
  /// How many of the chunks hold vectors.
  std::size_t used_chunks() const { return chunks_for(rows_.size()); }
  /// Takes the vector in new_row() into B; gives the place for its products with the others and
  /// itself. A residual has its weights then, which are filled in as well.
  std::span<double> keep_row(bool residual, double alpha, double beta);
  T* row_at(std::size_t k) {
    return chunks_.part(k / rows_per_chunk_) + k % rows_per_chunk_ * dimension_;
  }
  void begin(const Step<T>& step);
  /// One more vector for what the weights are off by.
  void rebase(const Step<T>& step);
  std::uint64_t hash_weights(const Step<T>& step);
  /// alpha_j w_j of the given residuals, a row each, made anew from their coefficients.
  void weights_of(std::span<const std::size_t> residuals, Executor& executor, T* out) const;

  std::size_t dimension_;
  std::size_t rows_per_chunk_;
  StateArray<T> chunks_;
  std::vector<const T*> rows_;

  Triangle products_;    // M, the lower half
  Triangle weights_at_;  // X_j; empty for vectors that are not residuals
  // In the caller's memory alone, kRowsPerPart rows a part: alpha, beta, x, y, and whether the vector
  // is a residual. Between steps they are there, during a step in the vectors below.
  static constexpr std::size_t kRowsPerPart = 64;
  static constexpr std::size_t kFacts = 5;
  StateArray<double> row_facts_;
  std::size_t rows_in_memory_ = 0;
  std::vector<double> alpha_;
  std::vector<double> beta_;
  std::vector<double> x_;
  std::vector<double> y_;
  bool weights_known_ = false;
  std::uint64_t weights_hash_ = 0;

  // Of the step under way: prepare() makes room, so that nothing is allocated once the state has
  // begun to change.
  bool moved_ = false;  // somebody else moved the weights
  Buffer<T> estimate_;
  History<T> history_;
  std::vector<std::uint64_t> hashes_;  // a block each
  std::vector<kernels::PassSums> sums_;
  std::vector<double> c_;
  std::vector<double> mc_;
  std::vector<T> rounded_;  // coefficients in the type of the weights
};

}  // namespace tandem
