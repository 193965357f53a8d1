// SPDX-License-Identifier: MIT
#include "optimizers/dense.h"

#include <algorithm>
#include <type_traits>

#include "base/make_room.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/kernels.h"
#include "kernels/narrow_matrix.h"
#include "optimizers/full.h"
#include "optimizers/state_visitors.h"

namespace tandem {
namespace {

constexpr std::size_t kElementsPerThread = std::size_t{1} << 18;

/// Noise of its own, whatever else is rounded with the same seed.
constexpr std::uint64_t kMatrixStream = 0x4D4154524958ULL;

}  // namespace

template <class T>
DenseEstimator<T>::DenseEstimator(const detail::TrainableSpec& spec, std::size_t dimension,
                                  StateOwner owner, const detail::StateStorage& storage)
    : TrainableEstimator<T>(spec),
      dimension_(dimension),
      storage_(storage),
      facts_{.base_is_zero = spec.initial_a.empty()},
      base_(dimension * dimension, owner, storage),
      b_(dimension, owner),
      u_(kDelayed * dimension, owner),
      v_(kDelayed * dimension, owner),
      gradient_(dimension),
      estimate_(dimension),
      u_rows_(kDelayed),
      v_rows_(kDelayed),
      sums_((dimension + kernels::kBlock - 1) / kernels::kBlock) {
  history_.prepare(kDelayed + 1, dimension);
  products_.reserve(kDelayed + 1);
  if (owner == StateOwner::engine) taken();
}

template <class T>
void DenseEstimator<T>::start() {
  base_.start_from(this->spec().initial_a);
  b_.start_from(this->spec().initial_b);
}

template <class T>
void DenseEstimator<T>::taken() {
  for (std::size_t k = 0; k < kDelayed; ++k) {
    u_rows_[k] = u_.data() + k * dimension_;
    v_rows_[k] = v_.data() + k * dimension_;
  }
}

template <class T>
void DenseEstimator<T>::Facts::visit(StateVisitor& visitor) {
  visitor.small("base_is_zero", base_is_zero, 1);
  visitor.small("pending", pending, kDelayed);
}

template <class T>
void DenseEstimator<T>::arrays(StateVisitor& visitor) {
  base_.visit("A", visitor);
  visitor.array("b", b_);
  visitor.array("u", u_);
  visitor.array("v", v_);
}

template <class T>
void DenseEstimator<T>::prepare(const Step<T>& step) {
  if (facts_.pending == kDelayed) prepare_factors(step.executor, kDelayed);
}

template <class T>
void DenseEstimator<T>::ready(const Step<T>& step, const GatheredSums&, kernels::PassScalars<T>&) {
  const auto& kernels = kernels::kernels<T>();
  if (facts_.pending == kDelayed) {
    add_factors(step.executor, u_rows_, v_rows_, step.clock.step);
    release_factors();
    facts_.pending = 0;
  }
  T* w = v_.data() + facts_.pending * dimension_;
  flatten_weights(step, w);
  flatten_gradient(step, gradient_.data());

  // p = base w + sum of u_k (v_k.w)
  T* p = estimate_.data();
  if (facts_.base_is_zero) {
    std::fill(p, p + dimension_, T{0});
  } else {
    multiply(step.executor, w, p);
  }
  const std::span<const T* const> u(u_rows_.data(), facts_.pending);
  history_.pass(step.executor, {v_rows_.data(), facts_.pending + 1}, dimension_, nullptr, nullptr,
                w);
  products_.assign(history_.dots().begin(), history_.dots().end());
  history_.pass(step.executor, u, dimension_, products_.data(), p, nullptr);

  const auto gain = this->gain(step, history_.dots()[facts_.pending]);
  const kernels::BlockRates<T> rates{static_cast<T>(gain.alpha), static_cast<T>(gain.beta),
                                     static_cast<T>(gain.delta)};
  T* u_new = u_.data() + facts_.pending * dimension_;
  kernels::PassSums total;
  for (std::size_t block = 0; block < sums_.size(); ++block) {
    const std::size_t i = block * kernels::kBlock;
    kernels.learn_vector(p + i, gradient_.data() + i, b_.data() + i, u_new + i,
                         std::min(kernels::kBlock, dimension_ - i), rates, &sums_[block]);
    total.residual2 += sums_[block].residual2;
    total.gradient2 += sums_[block].gradient2;
  }
  if (gain.alpha != 0) ++facts_.pending;
  this->set_norms(total.residual2, total.gradient2);
  this->last_.delta = gain.delta;
}

template <class T>
void DenseEstimator<T>::multiply(Executor& executor, const T* w, T* p) {
  parallel_ranges(executor, dimension_, kElementsPerThread / dimension_ + 1,
                  [&](std::size_t first, std::size_t last) {
                    const std::size_t at = first * dimension_;
                    if constexpr (std::is_same_v<T, float>) {
                      if (base_.narrow()) {
                        kernels::matrix_vector(base_.half_part(0) + at, dimension_, w, last - first,
                                               dimension_, p + first);
                        return;
                      }
                    }
                    kernels::kernels<T>().matrix_vector(base_.part(0) + at, dimension_, w,
                                                        last - first, dimension_, p + first);
                  });
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
                                    std::span<const T* const> v, std::uint64_t number) {
  const std::size_t rank = u.size();
  shifted_.resize(ranges_ * rank);
  const kernels::MatrixRounding rounding{
      .stochastic = storage_.rounding == StateRounding::stochastic,
      .key = Random(storage_.seed ^ kMatrixStream, number).bits()};
  const auto update = [&](std::size_t range) {
    const std::size_t first = range * dimension_ / ranges_;
    const std::size_t last = (range + 1) * dimension_ / ranges_;
    const T** u_part = shifted_.data() + range * rank;
    for (std::size_t k = 0; k < rank; ++k) u_part[k] = u[k] + first;
    T* scratch = scratch_.data() + range * kernels::rank_update_scratch(rank);
    if constexpr (std::is_same_v<T, float>) {
      if (base_.narrow()) {
        kernels::MatrixRounding own = rounding;
        own.first_row = first;
        kernels::rank_update(base_.half_part(0) + first * dimension_, dimension_, last - first,
                             dimension_, u_part, v.data(), rank, own, scratch);
        return;
      }
    }
    kernels::kernels<T>().rank_update(base_.part(0) + first * dimension_, dimension_, last - first,
                                      dimension_, u_part, v.data(), rank, scratch);
  };
  if (ranges_ == 1) {
    update(0);
  } else {
    run_tasks(executor, ranges_, update);
  }
  facts_.base_is_zero = false;
}

template <class T>
std::size_t DenseEstimator<T>::workspace_bytes() const {
  return u_.bytes() + v_.bytes() + gradient_.bytes() + estimate_.bytes() + history_.bytes() +
         sums_.size() * sizeof(kernels::PassSums) + scratch_.bytes();
}

template <class T>
void DenseEstimator<T>::save(StateWriter& writer) const {
  WriteState write(writer);
  auto& self = const_cast<DenseEstimator&>(*this);  // writing takes nothing in
  visit_diagnostics(write, self.last_);
  writer.count("base_is_zero", facts_.base_is_zero ? 1 : 0);
  if (!facts_.base_is_zero) self.base_.visit("A", write);
  writer.array("b", b_.span());
  // The unapplied factors as they are: applying them now would change the bits of what follows.
  writer.count("pending", facts_.pending);
  writer.array("u", u_.span().first(facts_.pending * dimension_));
  writer.array("v", v_.span().first(facts_.pending * dimension_));
}

template <class T>
void DenseEstimator<T>::load(StateReader& reader) {
  ReadState read(reader);
  visit_diagnostics(read, this->last_);
  facts_.base_is_zero = reader.count("base_is_zero", 1) == 1;
  if (!facts_.base_is_zero) base_.visit("A", read);
  reader.array("b", b_.span());
  facts_.pending = reader.count("pending", kDelayed);
  reader.array("u", u_.span().first(facts_.pending * dimension_));
  reader.array("v", v_.span().first(facts_.pending * dimension_));
}

template class DenseEstimator<float>;
template class DenseEstimator<double>;

}  // namespace tandem
