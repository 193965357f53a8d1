// SPDX-License-Identifier: MIT
#include "optimizers/estimator.h"

#include <algorithm>
#include <variant>

#include "base/parallel.h"
#include "kernels/kernels.h"
#include "optimizers/full.h"
#include "optimizers/state_visitors.h"

namespace tandem {

template <class T>
const Diagnostics& Estimator<T>::last() const {
  static const Diagnostics kNone;
  return kNone;
}

template <class T>
typename TrainableEstimator<T>::Rates TrainableEstimator<T>::rates(const Step<T>& step) const {
  return {spec_.alpha.at(step.clock) * step.rate_factor,
          spec_.beta.at(step.clock) * step.rate_factor};
}

template <class T>
typename TrainableEstimator<T>::Gain TrainableEstimator<T>::gain(const Step<T>& step,
                                                                 double ww) const {
  auto [alpha, beta] = rates(step);
  if (spec_.normalize) alpha /= spec_.eps + ww;
  return {alpha, beta, alpha * ww + beta};
}

template <class T>
void TrainableEstimator<T>::set_norms(double residual2, double gradient2) {
  last_.residual_norm = std::sqrt(residual2);
  last_.gradient_norm = std::sqrt(gradient2);
}

template <class T>
void Estimator<T>::save(StateWriter& writer) const {
  WriteState write(writer);
  auto& self = const_cast<Estimator&>(*this);  // writing takes nothing in
  self.scalars(write);
  self.arrays(write);
}

template <class T>
void Estimator<T>::load(StateReader& reader) {
  ReadState read(reader);
  scalars(read);
  arrays(read);
}

template <class T>
void flatten_weights(const Step<T>& step, T* out) {
  for (std::size_t s = 0; s < step.segments.size(); ++s) {
    std::copy(step.segments[s].weights.begin(), step.segments[s].weights.end(),
              out + step.layout.offset(s));
  }
}

template <class T>
void flatten_gradient(const Step<T>& step, T* out) {
  const auto l2 = static_cast<T>(step.l2);
  const auto& kernels = kernels::kernels<T>();
  parallel_ranges(step.executor, step.layout.blocks(), kBlocksPerThread,
                  [&](std::size_t first, std::size_t last) {
                    step.layout.for_blocks(first, last, [&](const Layout::Block& block) {
                      const Segment<T>& segment = step.segments[block.segment];
                      if (l2 == 0) {
                        std::copy_n(segment.gradient.data() + block.begin, block.count,
                                    out + block.flat);
                        return;
                      }
                      kernels.add_scaled(segment.gradient.data() + block.begin,
                                         segment.weights.data() + block.begin, block.count, l2,
                                         out + block.flat);
                    });
                  });
}

template <class T>
std::unique_ptr<Estimator<T>> make_estimator(const detail::Recipe& recipe, const Layout& layout,
                                             StateOwner owner) {
  if (!std::holds_alternative<detail::TrainableSpec>(recipe.estimator)) {
    return make_average<T>(recipe, layout, owner);
  }
  const auto& trainable = std::get<detail::TrainableSpec>(recipe.estimator);
  switch (trainable.structure) {
    case detail::TrainableSpec::Structure::diagonal:
      return make_diagonal<T>(trainable, layout, owner, recipe.storage);
    case detail::TrainableSpec::Structure::rank_one:
      return make_rank_one<T>(trainable, layout, owner);
    case detail::TrainableSpec::Structure::block:
      return make_block<T>(trainable, layout.dimension(), trainable.block, owner);
    case detail::TrainableSpec::Structure::full:
      return make_full<T>(recipe, trainable, layout, owner);
  }
  return nullptr;
}

template class Estimator<float>;
template class Estimator<double>;
template class TrainableEstimator<float>;
template class TrainableEstimator<double>;
template void flatten_weights<float>(const Step<float>&, float*);
template void flatten_weights<double>(const Step<double>&, double*);
template void flatten_gradient<float>(const Step<float>&, float*);
template void flatten_gradient<double>(const Step<double>&, double*);
template std::unique_ptr<Estimator<float>> make_estimator(const detail::Recipe&, const Layout&,
                                                          StateOwner);
template std::unique_ptr<Estimator<double>> make_estimator(const detail::Recipe&, const Layout&,
                                                           StateOwner);

}  // namespace tandem
