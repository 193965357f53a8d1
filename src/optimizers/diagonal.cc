// SPDX-License-Identifier: MIT
// Diag-TO's estimator, Algorithm 2 of the paper: A = diag(a). All of it is elementwise.
#include <algorithm>

#include "optimizers/estimator.h"

namespace tandem {
namespace {

template <class T>
class Diagonal : public TrainableEstimator<T> {
 public:
  Diagonal(const detail::TrainableSpec& spec, const Layout& layout, StateOwner owner,
           const detail::StateStorage& storage)
      : TrainableEstimator<T>(spec), a_(layout, owner, storage), b_(layout, owner, storage) {}

  kernels::EstimatorStage stage() const override {
    return this->normalize() ? kernels::EstimatorStage::diagonal_normalized
                             : kernels::EstimatorStage::diagonal;
  }
  void ready(const Step<T>& step, const GatheredSums&, kernels::PassScalars<T>& scalars) override {
    const auto [alpha, beta] = this->rates(step);
    scalars.alpha = static_cast<T>(alpha);
    scalars.beta = static_cast<T>(beta);
    scalars.eps = static_cast<T>(this->spec().eps);
  }
  kernels::PassStreams<T> streams(std::size_t segment) override {
    kernels::PassStreams<T> streams;
    streams.first = a_.part(segment);
    streams.second = b_.part(segment);
    return streams;
  }
  kernels::NarrowStreams narrow_streams(std::size_t segment) override {
    kernels::NarrowStreams streams;
    streams.first = a_.half_part(segment);
    streams.second = b_.half_part(segment);
    return streams;
  }
  void finish(const Step<T>&, const Outcome& outcome) override {
    kernels::PassSums total;
    for (const kernels::PassSums& sums : outcome.sums) {
      total.residual2 += sums.residual2;
      total.gradient2 += sums.gradient2;
      total.delta = std::max(total.delta, sums.delta);
    }
    this->set_norms(total.residual2, total.gradient2);
    this->last_.delta = total.delta;
  }
  std::size_t state_bytes() const override { return a_.bytes() + b_.bytes(); }
  void scalars(StateVisitor& visitor) override { visit_diagnostics(visitor, this->last_); }
  void arrays(StateVisitor& visitor) override {
    a_.visit("a", visitor);
    b_.visit("b", visitor);
  }
  void start() override {
    a_.start_from(this->spec().initial_a);
    b_.start_from(this->spec().initial_b);
  }

 private:
  ElementState<T> a_;
  ElementState<T> b_;
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_diagonal(const detail::TrainableSpec& spec, const Layout& layout,
                                            StateOwner owner, const detail::StateStorage& storage) {
  return std::make_unique<Diagonal<T>>(spec, layout, owner, storage);
}
template std::unique_ptr<Estimator<float>> make_diagonal(const detail::TrainableSpec&,
                                                         const Layout&, StateOwner,
                                                         const detail::StateStorage&);
template std::unique_ptr<Estimator<double>> make_diagonal(const detail::TrainableSpec&,
                                                          const Layout&, StateOwner,
                                                          const detail::StateStorage&);

}  // namespace tandem
