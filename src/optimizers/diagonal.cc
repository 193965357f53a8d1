// SPDX-License-Identifier: MIT
// Diag-TO's estimator, Algorithm 2 of the paper: A = diag(a). All of it is elementwise.
#include <algorithm>

#include "optimizers/estimator.h"

namespace tandem {
namespace {

template <class T>
class Diagonal : public TrainableEstimator<T> {
 public:
  Diagonal(const detail::TrainableSpec& spec, std::size_t dimension)
      : TrainableEstimator<T>(spec), a_(dimension), b_(dimension) {
    fill_from<T>(spec.initial_a, a_);
    fill_from<T>(spec.initial_b, b_);
  }

  kernels::EstimatorStage stage() const override {
    return this->normalize() ? kernels::EstimatorStage::diagonal_normalized
                             : kernels::EstimatorStage::diagonal;
  }
  void gather(const Step<T>& step, kernels::PassScalars<T>& scalars) override {
    const auto [alpha, beta] = this->rates(step);
    scalars.alpha = static_cast<T>(alpha);
    scalars.beta = static_cast<T>(beta);
    scalars.eps = static_cast<T>(this->spec().eps);
  }
  kernels::PassStreams<T> streams() override {
    kernels::PassStreams<T> streams;
    streams.first = a_.data();
    streams.second = b_.data();
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
  void save(StateWriter& writer) const override {
    this->save_last(writer);
    writer.array("a", a_.span());
    writer.array("b", b_.span());
  }
  void load(StateReader& reader) override {
    this->load_last(reader);
    reader.array("a", a_.span());
    reader.array("b", b_.span());
  }

 private:
  Buffer<T> a_;
  Buffer<T> b_;
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_diagonal(const detail::TrainableSpec& spec,
                                            std::size_t dimension) {
  return std::make_unique<Diagonal<T>>(spec, dimension);
}
template std::unique_ptr<Estimator<float>> make_diagonal(const detail::TrainableSpec&, std::size_t);
template std::unique_ptr<Estimator<double>> make_diagonal(const detail::TrainableSpec&,
                                                          std::size_t);

}  // namespace tandem
