// SPDX-License-Identifier: MIT
#include "optimizers/dense.h"

#include <algorithm>

#include "base/make_room.h"
#include "base/parallel.h"
#include "kernels/kernels.h"
#include "optimizers/full.h"

namespace tandem {
namespace {

constexpr std::size_t kElementsPerThread = std::size_t{1} << 18;

}  // namespace

template <class T>
DenseEstimator<T>::DenseEstimator(const detail::TrainableSpec& spec, std::size_t dimension)
    : TrainableEstimator<T>(spec),
      dimension_(dimension),
      base_(dimension * dimension),
      base_is_zero_(spec.initial_a.empty()),
      b_(dimension),
      u_(kDelayed * dimension),
      v_(kDelayed * dimension),
      gradient_(dimension),
      estimate_(dimension),
      sums_((dimension + kernels::kBlock - 1) / kernels::kBlock) {
  fill_from<T>(spec.initial_a, base_);
  fill_from<T>(spec.initial_b, b_);
  for (std::size_t k = 0; k < kDelayed; ++k) {
    u_rows_.push_back(factor(u_, k));
    v_rows_.push_back(factor(v_, k));
  }
  history_.prepare(kDelayed + 1, dimension);
  products_.reserve(kDelayed + 1);
}

template <class T>
void DenseEstimator<T>::prepare(const Step<T>& step) {
  if (pending_ == kDelayed) prepare_factors(step.executor, kDelayed);
}

template <class T>
void DenseEstimator<T>::gather(const Step<T>& step, kernels::PassScalars<T>&) {
  const auto& kernels = kernels::kernels<T>();
  if (pending_ == kDelayed) {
    add_factors(step.executor, u_rows_, v_rows_);
    release_factors();
    pending_ = 0;
  }
  T* w = v_.data() + pending_ * dimension_;
  flatten_weights(step, w);
  flatten_gradient(step, gradient_.data());

  // p = base w + sum of u_k (v_k.w)
  T* p = estimate_.data();
  if (base_is_zero_) {
    std::fill(p, p + dimension_, T{0});
  } else {
    parallel_ranges(step.executor, dimension_, kElementsPerThread / dimension_ + 1,
                    [&](std::size_t first, std::size_t last) {
                      kernels.matrix_vector(base_.data() + first * dimension_, dimension_, w,
                                            last - first, dimension_, p + first);
                    });
  }
  const std::span<const T* const> u(u_rows_.data(), pending_);
  history_.pass(step.executor, {v_rows_.data(), pending_ + 1}, dimension_, nullptr, nullptr, w);
  products_.assign(history_.dots().begin(), history_.dots().end());
  history_.pass(step.executor, u, dimension_, products_.data(), p, nullptr);

  const auto gain = this->gain(step, history_.dots()[pending_]);
  const kernels::BlockRates<T> rates{static_cast<T>(gain.alpha), static_cast<T>(gain.beta),
                                     static_cast<T>(gain.delta)};
  T* u_new = u_.data() + pending_ * dimension_;
  kernels::PassSums total;
  for (std::size_t block = 0; block < sums_.size(); ++block) {
    const std::size_t i = block * kernels::kBlock;
    kernels.learn_vector(p + i, gradient_.data() + i, b_.data() + i, u_new + i,
                         std::min(kernels::kBlock, dimension_ - i), rates, &sums_[block]);
    total.residual2 += sums_[block].residual2;
    total.gradient2 += sums_[block].gradient2;
  }
  if (gain.alpha != 0) ++pending_;
  this->set_norms(total.residual2, total.gradient2);
  this->last_.delta = gain.delta;
}

template <class T>
kernels::PassStreams<T> DenseEstimator<T>::streams() {
  kernels::PassStreams<T> streams;
  streams.given = estimate_.data();
  return streams;
}

template <class T>
void DenseEstimator<T>::prepare_factors(Executor& executor, std::size_t rank) {
  const std::size_t most = dimension_ * dimension_ / kElementsPerThread;
  ranges_ =
      std::clamp<std::size_t>(most, 1, static_cast<std::size_t>(std::max(1, executor.threads())));
  const std::size_t scratch = ranges_ * kernels::rank_update_scratch(rank);
  if (scratch_.size() < scratch) scratch_ = Buffer<T>(scratch);
  make_room(shifted_, ranges_ * rank);
}

template <class T>
void DenseEstimator<T>::add_factors(Executor& executor, std::span<const T* const> u,
                                    std::span<const T* const> v) {
  const auto& kernels = kernels::kernels<T>();
  const std::size_t rank = u.size();
  shifted_.resize(ranges_ * rank);
  const auto update = [&](std::size_t range) {
    const std::size_t first = range * dimension_ / ranges_;
    const std::size_t last = (range + 1) * dimension_ / ranges_;
    const T** u_part = shifted_.data() + range * rank;
    for (std::size_t k = 0; k < rank; ++k) u_part[k] = u[k] + first;
    kernels.rank_update(base_.data() + first * dimension_, dimension_, last - first, dimension_,
                        u_part, v.data(), rank,
                        scratch_.data() + range * kernels::rank_update_scratch(rank));
  };
  if (ranges_ == 1) {
    update(0);
  } else {
    run_tasks(executor, ranges_, update);
  }
  base_is_zero_ = false;
}

template <class T>
std::size_t DenseEstimator<T>::workspace_bytes() const {
  return u_.bytes() + v_.bytes() + gradient_.bytes() + estimate_.bytes() + history_.bytes() +
         sums_.size() * sizeof(kernels::PassSums) + scratch_.bytes();
}

template <class T>
void DenseEstimator<T>::save(StateWriter& writer) const {
  this->save_last(writer);
  writer.count("base_is_zero", base_is_zero_ ? 1 : 0);
  if (!base_is_zero_) writer.array("A", base_.span());
  writer.array("b", b_.span());
  // The unapplied factors as they are: applying them now would change the bits of what follows.
  writer.count("pending", pending_);
  writer.array("u", u_.span().first(pending_ * dimension_));
  writer.array("v", v_.span().first(pending_ * dimension_));
}

template <class T>
void DenseEstimator<T>::load(StateReader& reader) {
  this->load_last(reader);
  base_is_zero_ = reader.count("base_is_zero", 1) == 1;
  if (!base_is_zero_) {
    reader.array("A", base_.span());
  } else if (!this->spec().initial_a.empty()) {
    base_ = Buffer<T>(dimension_ * dimension_);  // the state did not start from this matrix
  }
  reader.array("b", b_.span());
  pending_ = reader.count("pending", kDelayed);
  reader.array("u", u_.span().first(pending_ * dimension_));
  reader.array("v", v_.span().first(pending_ * dimension_));
}

template class DenseEstimator<float>;
template class DenseEstimator<double>;

}  // namespace tandem
