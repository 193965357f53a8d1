// SPDX-License-Identifier: MIT
// What the options of all rules have in common. They are in torch's own style,
// `DiagonalTOOptions(0.1).alpha(0.01).beta(1.0)`, with the names and defaults of <tandem/options.h>
// but for one: in the rules that torch also has, `weight_decay` is what torch means by it (see the
// table in docs/torch.md). Those of each rule are in rules.h.
//
// An option that a parameter group leaves unset is the optimizer's, not the type's default.
#pragma once

#include <tandem/choices.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace tandem::optim {

/// Which weights share the matrix A of RO-TO and Full-TO.
enum class Scope {
  whole,  ///< all parameters of the optimizer, as in the paper
  group,  ///< those of a parameter group
  tensor  ///< each tensor for itself
};
constexpr auto names_of(Scope /*type*/) { return std::array{"whole", "group", "tensor"}; }

namespace detail {

/// A value that knows whether somebody gave it. One that was changed through a reference counts as
/// given.
template <class T>
class Option {
 public:
  using Value = T;

  Option(T value) : value_(value), default_(value) {}  // NOLINT(google-explicit-constructor)

  void give(T value) {
    value_ = std::move(value);
    given_ = true;
  }
  const T& get() const { return value_; }
  T& get() { return value_; }
  bool given() const { return given_ || !(value_ == default_); }

 private:
  T value_;
  T default_;
  bool given_ = false;
};

class FieldVisitor;

}  // namespace detail

/// What the options of all rules have in common.
class Options : public torch::optim::OptimizerOptions {
 public:
  double get_lr() const override { return lr_.get(); }
  void set_lr(double lr) override { lr_.give(lr); }

  /// Writes and reads every field by name, as text.
  void serialize(torch::serialize::OutputArchive& archive) const override;
  void serialize(torch::serialize::InputArchive& archive) override;

  /// Calls the visitor with the name and the value of each field. For this library.
  virtual void visit(detail::FieldVisitor& visitor) = 0;

 protected:
  Options(double lr, double weight_decay) : lr_(lr), weight_decay_(weight_decay) {}

  detail::Option<double> lr_;
  detail::Option<double> weight_decay_;
  detail::Option<OnNonFinite> on_nonfinite_ = OnNonFinite::raise;
  detail::Option<bool> stochastic_rounding_ = false;
  detail::Option<std::uint64_t> seed_ = std::uint64_t{0};
  // Of the trainable rules.
  detail::Option<double> alpha_ = 0.01;
  detail::Option<double> beta_ = 0.1;
  detail::Option<double> l2_ = 0.0;
  detail::Option<bool> normalize_ = false;
  detail::Option<double> normalize_eps_ = 1e-2;
  detail::Option<bool> schedule_all_ = false;
  detail::Option<double> first_lr_ = 0.0;  // where schedule_all counts from; 0 is not known yet

  void visit_common(detail::FieldVisitor& visitor);
  void visit_trainable(detail::FieldVisitor& visitor);
};

/// `Derived(lr)`, copies of it, and the setters that all rules share; they return a Derived&.
template <class Derived>
class OptionsOf : public Options {
 public:
  using Options::Options;

  std::unique_ptr<torch::optim::OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }

 protected:
  Derived& self() { return static_cast<Derived&>(*this); }
};

// For rules.h: a setter and getters for a field; torch's TORCH_ARG, but the field knows that it was
// set.
#define TANDEM_TORCH_OPTION(type, name)                    \
 public:                                                   \
  auto name(const type& value)->decltype(*this) {          \
    this->name##_.give(value);                             \
    return *this;                                          \
  }                                                        \
  const type& name() const { return this->name##_.get(); } \
  type& name() { return this->name##_.get(); }

// What all rules have: the rate (gamma of the paper), decay, what to do with a gradient that is not
// finite (the default looks at all gradients before anything changes and throws), and how bfloat16
// weights are rounded.
#define TANDEM_TORCH_COMMON(Class, rule_name, default_lr, default_decay)             \
 public:                                                                             \
  static constexpr const char* rule = rule_name;                                     \
  Class() : OptionsOf(default_lr, default_decay) {}                                  \
  Class(double lr) : OptionsOf(default_lr, default_decay) { /* NOLINT: as torch's */ \
    lr_.give(lr);                                                                    \
  }                                                                                  \
  void visit(detail::FieldVisitor& visitor) override;                                \
  TANDEM_TORCH_OPTION(double, lr)                                                    \
  TANDEM_TORCH_OPTION(double, weight_decay)                                          \
  TANDEM_TORCH_OPTION(OnNonFinite, on_nonfinite)                                     \
  TANDEM_TORCH_OPTION(bool, stochastic_rounding)                                     \
  TANDEM_TORCH_OPTION(std::uint64_t, seed)

// alpha and beta of the paper; l2 adds l2 * w to the gradient, weight_decay is decoupled.
// schedule_all: a scheduler that moves lr moves alpha and beta by the same factor, as the paper's
// decay does; otherwise a scheduler moves lr alone.
#define TANDEM_TORCH_TRAINABLE()             \
  TANDEM_TORCH_OPTION(double, alpha)         \
  TANDEM_TORCH_OPTION(double, beta)          \
  TANDEM_TORCH_OPTION(double, l2)            \
  TANDEM_TORCH_OPTION(bool, normalize)       \
  TANDEM_TORCH_OPTION(double, normalize_eps) \
  TANDEM_TORCH_OPTION(bool, schedule_all)

using Betas = std::tuple<double, double>;

}  // namespace tandem::optim
