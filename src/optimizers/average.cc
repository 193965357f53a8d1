// SPDX-License-Identifier: MIT
// The estimators that do not learn: the gradient itself, and running averages of it (momentum,
// Nesterov, Adam, Lion).
#include <cmath>
#include <variant>
#include <vector>

#include "optimizers/estimator.h"

namespace tandem {
namespace {

template <class T>
class Identity : public Estimator<T> {
 public:
  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::identity; }
  void ready(const Step<T>&, const GatheredSums&, kernels::PassScalars<T>&) override {}
  std::size_t state_bytes() const override { return 0; }
};

template <class T>
class Average : public Estimator<T> {
 public:
  Average(const detail::Recipe& recipe, const detail::AverageSpec& spec, const Layout& layout,
          StateOwner owner)
      : spec_(spec), names_(recipe.carried), m_(layout, owner, recipe.storage) {
    for (const detail::CarriedScalar& scalar : names_) carried_.push_back(scalar.initial);
  }

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::average; }
  void ready(const Step<T>& step, const GatheredSums&, kernels::PassScalars<T>& scalars) override {
    detail::AverageCoefficients now = spec_.constant;
    if (spec_.moving) now = spec_.moving(step.clock, carried_);
    if (spec_.correct) now.out_new /= 1 - std::pow(now.keep, static_cast<double>(step.clock.step));
    scalars.keep = static_cast<T>(now.keep);
    scalars.take = static_cast<T>(now.take);
    scalars.out_new = static_cast<T>(now.out_new);
    scalars.out_old = static_cast<T>(now.out_old);
    scalars.out_g = static_cast<T>(now.out_g);
  }
  kernels::PassStreams<T> streams(std::size_t segment) override {
    kernels::PassStreams<T> streams;
    streams.first = m_.part(segment);
    return streams;
  }
  kernels::NarrowStreams narrow_streams(std::size_t segment) override {
    kernels::NarrowStreams streams;
    streams.first = m_.half_part(segment);
    return streams;
  }
  std::size_t state_bytes() const override { return m_.bytes(); }
  void scalars(StateVisitor& visitor) override {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      visitor.number(names_[i].name.c_str(), carried_[i]);
    }
  }
  void arrays(StateVisitor& visitor) override { m_.visit("m", visitor); }
  void start() override { m_.start_from({}); }

 private:
  const detail::AverageSpec& spec_;
  std::vector<detail::CarriedScalar> names_;
  std::vector<double> carried_;
  ElementState<T> m_;
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_average(const detail::Recipe& recipe, const Layout& layout,
                                           StateOwner owner) {
  const auto* spec = std::get_if<detail::AverageSpec>(&recipe.estimator);
  if (spec == nullptr) return std::make_unique<Identity<T>>();
  return std::make_unique<Average<T>>(recipe, *spec, layout, owner);
}
template std::unique_ptr<Estimator<float>> make_average(const detail::Recipe&, const Layout&,
                                                        StateOwner);
template std::unique_ptr<Estimator<double>> make_average(const detail::Recipe&, const Layout&,
                                                         StateOwner);

}  // namespace tandem
