// SPDX-License-Identifier: MIT
#include <ATen/MemoryOverlap.h>
#include <fmt/format.h>
#include <tandem/torch/optimizer.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "parts.h"

namespace tandem::optim {
namespace {

using torch::optim::OptimizerParamGroup;

/// Torch's constructor and add_param_group drop or do not fill up options that are not its own.
void adopt_options(OptimizerParamGroup& group, const OptimizerParamGroup& given,
                   const Options& defaults, const std::string& rule, std::size_t index) {
  group.set_options((given.has_options() ? given.options() : defaults).clone());
  detail::fill_up(detail::own_options(group, defaults, rule, index), defaults);
}

}  // namespace

Optimizer::Optimizer(std::string rule, std::vector<OptimizerParamGroup> groups,
                     std::unique_ptr<Options> defaults)
    : torch::optim::Optimizer(std::vector<OptimizerParamGroup>{}, std::move(defaults)),
      parts_(std::make_unique<Parts>()) {
  parts_->rule = std::move(rule);
  for (const OptimizerParamGroup& group : groups) add_param_group(group);
}

Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer&&) noexcept = default;

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  const std::size_t index = param_groups_.size();
  for (std::size_t i = 0; i < group.params().size(); ++i) {
    const at::Tensor& parameter = group.params()[i];
    if (!parameter.defined()) {
      throw std::invalid_argument(
          fmt::format("{}: parameter {} of group {} is not defined", rule(), i, index));
    }
    const auto before = [&](const at::Tensor& other) { return other.is_same(parameter); };
    const auto end = group.params().begin() + static_cast<std::ptrdiff_t>(i);
    bool twice = std::any_of(group.params().begin(), end, before);
    for (const OptimizerParamGroup& other : param_groups_) {
      twice = twice || std::any_of(other.params().begin(), other.params().end(), before);
    }
    if (twice) {
      throw std::invalid_argument(
          fmt::format("{}: {} was given twice", rule(), parts_->name_of(parameter, index, i)));
    }
  }
  OptimizerParamGroup own(group.params());
  const auto& defaults = static_cast<const Options&>(*defaults_);
  adopt_options(own, group, defaults, rule(), index);
  torch::optim::Optimizer::add_param_group(own);
  // Newer torch puts its own in the place of options that it does not know.
  adopt_options(param_groups_.back(), own, defaults, rule(), index);
}

const std::string& Optimizer::rule() const { return parts_->rule; }

std::size_t Optimizer::state_bytes() const {
  std::size_t bytes = 0;
  for (const auto& unit : parts_->units) bytes += unit->core().state_bytes();
  return bytes;
}

std::uint64_t Optimizer::skipped_steps() const { return parts_->skipped; }

ParamState* Optimizer::state_of(const torch::Tensor& parameter) {
  return detail::find_state(state_, detail::state_key(parameter));
}
const ParamState* Optimizer::state_of(const torch::Tensor& parameter) const {
  return detail::find_state(state_, detail::state_key(parameter));
}

Diagnostics Optimizer::last() const {
  Diagnostics all;
  double residual2 = 0;
  double gradient2 = 0;
  double delta = -1;
  for (const detail::Unit* unit : parts_->stepped) {
    const Diagnostics& one = unit->core().last();
    residual2 += one.residual_norm * one.residual_norm;
    gradient2 += one.gradient_norm * one.gradient_norm;
    delta = std::max(delta, one.delta);
  }
  if (delta < 0) return all;
  all.residual_norm = std::sqrt(residual2);
  all.gradient_norm = std::sqrt(gradient2);
  all.delta = delta;
  return all;
}

void Optimizer::name_parameters(const torch::OrderedDict<std::string, torch::Tensor>& named) {
  std::unordered_map<const void*, std::string> names;
  for (const auto& item : named) names[item.value().unsafeGetTensorImpl()] = item.key();
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    const std::vector<at::Tensor>& parameters = param_groups_[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (names.contains(parameters[i].unsafeGetTensorImpl())) continue;
      throw std::invalid_argument(
          fmt::format("{}: parameter {} of group {} is not among the {} named ones", rule(), i, g,
                      names.size()));
    }
  }
  parts_->names = std::move(names);
}

// ---- A step --------------------------------------------------------------------------------------

namespace {

/// Why no rule here can step on a parameter, or "".
std::string obstacle(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  if (gradient.layout() != at::kStrided) return "has a sparse gradient, expected a dense one";
  if (!parameter.device().is_cpu()) {
    return fmt::format("is on device {}, expected cpu", parameter.device().str());
  }
  const at::ScalarType type = parameter.scalar_type();
  if (type != at::kFloat && type != at::kDouble && type != at::kBFloat16) {
    return fmt::format("is of type {}, expected float, double or bfloat16", at::toString(type));
  }
  if (gradient.scalar_type() != type) {
    return fmt::format("is of type {}, and its gradient {}", at::toString(type),
                       at::toString(gradient.scalar_type()));
  }
  if (gradient.sizes() != parameter.sizes()) return "and its gradient differ in shape";
  if (at::has_internal_overlap(parameter) == at::MemOverlap::Yes) {
    return "has elements that share memory (an expanded tensor)";
  }
  return "";
}

}  // namespace

torch::Tensor Optimizer::step(LossClosure closure) {
  const at::NoGradGuard no_grad;
  torch::Tensor loss;
  if (closure != nullptr) {
    const at::AutoGradMode enable_grad(true);
    loss = closure();
  }
  Parts& parts = *parts_;
  parts.read_groups(param_groups_, static_cast<const Options&>(*defaults_));

  // Everything is looked at before anything changes.
  parts.present.clear();
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    const std::vector<at::Tensor>& parameters = param_groups_[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& parameter = parameters[i];
      if (!parameter.grad().defined() || parameter.numel() == 0) continue;
      const std::string reason = obstacle(parameter);
      if (!reason.empty()) {
        throw std::invalid_argument(
            fmt::format("{}: {} {}", rule(), parts.name_of(parameter, g, i), reason));
      }
      parts.present.push_back({&parameter, g, i});
    }
  }
  if (parts.present.empty()) return loss;
  if (!parts.one_unit() && !parts.gradients_are_finite()) {
    ++parts.skipped;
    return loss;
  }
  parts.step_present(param_groups_, state_);
  return loss;
}

}  // namespace tandem::optim
