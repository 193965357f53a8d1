// SPDX-License-Identifier: MIT
// Full-TO's dense form: A is kept as a matrix plus its last rank-one updates as thin factors, A =
// base + sum of u_k v_k^T with u_k = alpha r_k and v_k = w_k. A step reads the matrix once; every
// kDelayed steps the factors are added to it in one pass. The matrix may be kept in bfloat16; then
// that pass rounds it, once for all its factors, which stay float like b.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimizers/estimator.h"
#include "optimizers/history.h"

namespace tandem {

template <class T>
class DenseEstimator : public TrainableEstimator<T> {
 public:
  DenseEstimator(const detail::TrainableSpec& spec, std::size_t dimension, StateOwner owner,
                 const detail::StateStorage& storage);

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::given; }
  void prepare(const Step<T>& step) override;
  void ready(const Step<T>& step, const GatheredSums&, kernels::PassScalars<T>& scalars) override;
  const T* estimate() const override { return estimate_.data(); }
  std::size_t state_bytes() const override { return base_.bytes() + b_.bytes(); }
  std::size_t workspace_bytes() const override;
  void arrays(StateVisitor& visitor) override;
  void start() override;
  void taken() override;
  void save(StateWriter& writer) const override;
  void load(StateReader& reader) override;

  /// base += sum of u_k v_k^T; for so many factors room was made by prepare_factors. Where the base
  /// is rounded stochastically, the noise depends on the seed, on `number`, which no other call of a
  /// run may have, and on the place in the matrix: the number is the step, or counts down from the
  /// largest.
  void add_factors(Executor& executor, std::span<const T* const> u, std::span<const T* const> v,
                   std::uint64_t number);
  void prepare_factors(Executor& executor, std::size_t rank);
  void release_factors() { scratch_ = Buffer<T>(); }
  std::span<T> b() { return b_.span(); }

  /// What it remembers beside arrays and diagnostics.
  struct Facts {
    bool base_is_zero = true;  // then a step need not read it: no update has reached it yet
    std::size_t pending = 0;   // factors that are not in the base yet
    void visit(StateVisitor& visitor);
  };
  const Facts& facts() const { return facts_; }
  void set_facts(const Facts& facts) { facts_ = facts; }

 private:
  /// p = base w.
  void multiply(Executor& executor, const T* w, T* p);

  std::size_t dimension_;
  detail::StateStorage storage_;
  Facts facts_;
  ElementState<T> base_;
  StateArray<T> b_;
  StateArray<T> u_;
  StateArray<T> v_;

  Buffer<T> gradient_;
  Buffer<T> estimate_;
  History<T> history_;
  std::vector<const T*> u_rows_;
  std::vector<const T*> v_rows_;
  std::vector<T> products_;  // of the weights with each v_k
  std::vector<kernels::PassSums> sums_;

  // Of add_factors, for each range of rows.
  std::size_t ranges_ = 1;
  Buffer<T> scratch_;
  std::vector<const T*> shifted_;
};

}  // namespace tandem
