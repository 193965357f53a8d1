// SPDX-License-Identifier: MIT
// The estimators that do not learn: the gradient itself, and running averages of it (momentum,
// Nesterov, Adam, Lion).
#include <cmath>
#include <string>
#include <variant>
#include <vector>

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
  Average(const detail::Recipe& recipe, const detail::AverageSpec& spec, std::size_t dimension)
      : spec_(spec), m_(dimension) {
    for (const detail::CarriedScalar& scalar : recipe.carried) {
      names_.push_back(scalar.name);
      carried_.push_back(scalar.initial);
    }
  }

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::average; }
  void gather(const Step<T>& step, kernels::PassScalars<T>& scalars) override {
    detail::AverageCoefficients now = spec_.constant;
    if (spec_.moving) now = spec_.moving(step.clock, carried_);
    if (spec_.correct) now.out_new /= 1 - std::pow(now.keep, static_cast<double>(step.clock.step));
    scalars.keep = static_cast<T>(now.keep);
    scalars.take = static_cast<T>(now.take);
    scalars.out_new = static_cast<T>(now.out_new);
    scalars.out_old = static_cast<T>(now.out_old);
    scalars.out_g = static_cast<T>(now.out_g);
  }
  kernels::PassStreams<T> streams() override {
    kernels::PassStreams<T> streams;
    streams.first = m_.data();
    return streams;
  }
  std::size_t state_bytes() const override { return m_.bytes(); }
  void save(StateWriter& writer) const override {
    for (std::size_t i = 0; i < names_.size(); ++i) writer.number(names_[i], carried_[i]);
    writer.array("m", m_.span());
  }
  void load(StateReader& reader) override {
    for (std::size_t i = 0; i < names_.size(); ++i) carried_[i] = reader.number(names_[i]);
    reader.array("m", m_.span());
  }

 private:
  const detail::AverageSpec& spec_;
  std::vector<std::string> names_;  // of the carried scalars
  std::vector<double> carried_;
  Buffer<T> m_;
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_average(const detail::Recipe& recipe, std::size_t dimension) {
  const auto* spec = std::get_if<detail::AverageSpec>(&recipe.estimator);
  if (spec == nullptr) return std::make_unique<Identity<T>>();
  return std::make_unique<Average<T>>(recipe, *spec, dimension);
}
template std::unique_ptr<Estimator<float>> make_average(const detail::Recipe&, std::size_t);
template std::unique_ptr<Estimator<double>> make_average(const detail::Recipe&, std::size_t);

}  // namespace tandem
