// SPDX-License-Identifier: MIT
// Options in torch's own style, `DiagonalTOOptions(0.1).alpha(0.01).beta(1.0)`, with the names and
// defaults of <tandem/options.h> but for one: in the rules that torch also has, `weight_decay` is
// what torch means by it (see the table in docs/torch.md).
//
// An option that a parameter group leaves unset is the optimizer's, not the type's default.
#pragma once

#include <tandem/options.h>
#include <torch/optim/optimizer.h>

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

namespace detail {

/// A value that knows whether somebody gave it. One that was changed through a reference counts as
/// given.
template <class T>
class Option {
 public:
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

// A setter and getters for a field; torch's TORCH_ARG, but the field knows that it was set.
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

/// Diag-TO.
class DiagonalTOOptions : public OptionsOf<DiagonalTOOptions> {
  TANDEM_TORCH_COMMON(DiagonalTOOptions, "diag-to", 0.01, 0.0)
  TANDEM_TORCH_TRAINABLE()
};

/// RO-TO.
class RankOneTOOptions : public OptionsOf<RankOneTOOptions> {
  TANDEM_TORCH_COMMON(RankOneTOOptions, "ro-to", 0.01, 0.0)
  TANDEM_TORCH_TRAINABLE()
  TANDEM_TORCH_OPTION(Scope, scope)

 private:
  detail::Option<Scope> scope_ = Scope::whole;
};

/// Full-TO: `form` and `memory_limit` (bytes, of each scope) as in tandem::FullTOOptions.
class FullTOOptions : public OptionsOf<FullTOOptions> {
  TANDEM_TORCH_COMMON(FullTOOptions, "full-to", 0.01, 0.0)
  TANDEM_TORCH_TRAINABLE()
  TANDEM_TORCH_OPTION(Scope, scope)
  TANDEM_TORCH_OPTION(Form, form)
  TANDEM_TORCH_OPTION(std::uint64_t, memory_limit)

 private:
  detail::Option<Scope> scope_ = Scope::whole;
  detail::Option<Form> form_ = Form::automatic;
  detail::Option<std::uint64_t> memory_limit_ = std::uint64_t{4} << 30;
};

/// Block-TO: blocks start anew in each tensor.
class BlockTOOptions : public OptionsOf<BlockTOOptions> {
  TANDEM_TORCH_COMMON(BlockTOOptions, "block-to", 0.01, 0.0)
  TANDEM_TORCH_TRAINABLE()
  TANDEM_TORCH_OPTION(std::uint64_t, block)

 private:
  detail::Option<std::uint64_t> block_ = std::uint64_t{16};
};

/// Adam-TO.
class AdamTOOptions : public OptionsOf<AdamTOOptions> {
  TANDEM_TORCH_COMMON(AdamTOOptions, "adam-to", 0.001, 0.0)
  TANDEM_TORCH_TRAINABLE()
  TANDEM_TORCH_OPTION(double, beta2)
  TANDEM_TORCH_OPTION(double, eps)

 private:
  detail::Option<double> beta2_ = 0.999;
  detail::Option<double> eps_ = 1e-8;
};

using Betas = std::tuple<double, double>;

/// As torch::optim::AdamOptions, without amsgrad; weight_decay adds to the gradient.
class AdamOptions : public OptionsOf<AdamOptions> {
  TANDEM_TORCH_COMMON(AdamOptions, "adam", 0.001, 0.0)
  TANDEM_TORCH_OPTION(Betas, betas)
  TANDEM_TORCH_OPTION(double, eps)

 private:
  detail::Option<Betas> betas_ = Betas(0.9, 0.999);
  detail::Option<double> eps_ = 1e-8;
};

/// As torch::optim::AdamWOptions, without amsgrad; weight_decay (0.01) is decoupled.
class AdamWOptions : public OptionsOf<AdamWOptions> {
  TANDEM_TORCH_COMMON(AdamWOptions, "adamw", 0.001, 0.01)
  TANDEM_TORCH_OPTION(Betas, betas)
  TANDEM_TORCH_OPTION(double, eps)

 private:
  detail::Option<Betas> betas_ = Betas(0.9, 0.999);
  detail::Option<double> eps_ = 1e-8;
};

/// b = momentum b + (1 - momentum) g; `form(MomentumForm::torch)` is torch's SGD with momentum.
/// weight_decay adds to the gradient.
class MomentumOptions : public OptionsOf<MomentumOptions> {
  TANDEM_TORCH_COMMON(MomentumOptions, "momentum", 0.01, 0.0)
  TANDEM_TORCH_OPTION(double, momentum)
  TANDEM_TORCH_OPTION(MomentumForm, form)

 private:
  detail::Option<double> momentum_ = 0.9;
  detail::Option<MomentumForm> form_ = MomentumForm::ema;
};

/// As torch's SGD(nesterov = true); weight_decay adds to the gradient.
class NesterovOptions : public OptionsOf<NesterovOptions> {
  TANDEM_TORCH_COMMON(NesterovOptions, "nesterov", 0.01, 0.0)
  TANDEM_TORCH_OPTION(double, momentum)

 private:
  detail::Option<double> momentum_ = 0.9;
};

/// weight_decay adds to the gradient.
class SGDOptions : public OptionsOf<SGDOptions> {
  TANDEM_TORCH_COMMON(SGDOptions, "sgd", 0.01, 0.0)
};

/// As torch::optim::AdagradOptions without lr_decay; weight_decay adds to the gradient.
class AdagradOptions : public OptionsOf<AdagradOptions> {
  TANDEM_TORCH_COMMON(AdagradOptions, "adagrad", 0.01, 0.0)
  TANDEM_TORCH_OPTION(double, initial_accumulator_value)
  TANDEM_TORCH_OPTION(double, eps)

 private:
  detail::Option<double> initial_accumulator_value_ = 0.0;
  detail::Option<double> eps_ = 1e-10;
};

/// As torch::optim::RMSpropOptions without momentum and centered; torch's alpha is beta2 here.
/// weight_decay adds to the gradient.
class RMSPropOptions : public OptionsOf<RMSPropOptions> {
  TANDEM_TORCH_COMMON(RMSPropOptions, "rmsprop", 0.01, 0.0)
  TANDEM_TORCH_OPTION(double, beta2)
  TANDEM_TORCH_OPTION(double, eps)

 private:
  detail::Option<double> beta2_ = 0.99;
  detail::Option<double> eps_ = 1e-8;
};

/// Lion; weight_decay is decoupled.
class LionOptions : public OptionsOf<LionOptions> {
  TANDEM_TORCH_COMMON(LionOptions, "lion", 1e-4, 0.0)
  TANDEM_TORCH_OPTION(Betas, betas)

 private:
  detail::Option<Betas> betas_ = Betas(0.9, 0.99);
};

#undef TANDEM_TORCH_TRAINABLE
#undef TANDEM_TORCH_COMMON
#undef TANDEM_TORCH_OPTION

}  // namespace tandem::optim
