// SPDX-License-Identifier: MIT
// The estimators that do not learn: the gradient itself, and running averages of it (momentum,
// Nesterov, Adam, Lion).
#include <cmath>

#include "optimizers/estimator.h"

namespace tandem {
namespace {

template <class T>
class Identity : public Estimator<T> {
 public:
  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::identity; }
  void gather(const Step<T>&, kernels::PassScalars<T>&) override {}
  std::size_t state_bytes() const override { return 0; }
  void save(StateWriter&) const override {}
  void load(StateReader&) override {}
};

template <class T>
class Average : public Estimator<T> {
 public:
  Average(const detail::AverageSpec& spec, std::size_t dimension) : spec_(spec), m_(dimension) {}

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::average; }
  void gather(const Step<T>& step, kernels::PassScalars<T>& scalars) override {
    double out_new = spec_.out_new;
    if (spec_.correct) out_new /= 1 - std::pow(spec_.keep, static_cast<double>(step.clock.step));
    scalars.keep = static_cast<T>(spec_.keep);
    scalars.take = static_cast<T>(spec_.take);
    scalars.out_new = static_cast<T>(out_new);
    scalars.out_old = static_cast<T>(spec_.out_old);
    scalars.out_g = static_cast<T>(spec_.out_g);
  }
  kernels::PassStreams<T> streams() override {
    kernels::PassStreams<T> streams;
    streams.first = m_.data();
    return streams;
  }
  std::size_t state_bytes() const override { return m_.bytes(); }
  void save(StateWriter& writer) const override { writer.array("m", m_.span()); }
  void load(StateReader& reader) override { reader.array("m", m_.span()); }

 private:
  const detail::AverageSpec& spec_;
  Buffer<T> m_;
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_average(const detail::AverageSpec* spec, std::size_t dimension) {
  if (spec == nullptr) return std::make_unique<Identity<T>>();
  return std::make_unique<Average<T>>(*spec, dimension);
}
template std::unique_ptr<Estimator<float>> make_average(const detail::AverageSpec*, std::size_t);
template std::unique_ptr<Estimator<double>> make_average(const detail::AverageSpec*, std::size_t);

}  // namespace tandem
