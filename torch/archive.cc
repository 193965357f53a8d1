// SPDX-License-Identifier: MIT
// torch::save and torch::load: options of the groups, and the states of parameters by their place.
#include <fmt/format.h>
#include <torch/serialize/archive.h>

#include <utility>

#include "parts.h"
#include "read_archive.h"
#include "version_1.h"

namespace tandem::optim {
namespace {

constexpr std::int64_t kArchiveVersion = 2;

std::string place_of(std::size_t group, std::size_t index) {
  return fmt::format("state/{}/{}", group, index);
}

}  // namespace

void Optimizer::save(torch::serialize::OutputArchive& archive) const {
  archive.write("tandem", c10::IValue(kArchiveVersion));
  archive.write("rule", c10::IValue(rule()));
  archive.write("skipped", c10::IValue(static_cast<std::int64_t>(parts_->skipped)));
  archive.write("epoch", c10::IValue(static_cast<std::int64_t>(parts_->epoch)));
  archive.write("groups", c10::IValue(static_cast<std::int64_t>(param_groups_.size())));
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    const std::string at = fmt::format("group/{}", g);
    const std::vector<at::Tensor>& parameters = param_groups_[g].params();
    c10::List<std::int64_t> sizes;
    for (const at::Tensor& parameter : parameters) sizes.push_back(parameter.numel());
    archive.write(at + "/sizes", c10::IValue(sizes));
    torch::serialize::OutputArchive options(archive.compilation_unit());
    param_groups_[g].options().serialize(options);
    archive.write(at + "/options", options);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ParamState* state = state_of(parameters[i]);
      if (state == nullptr) continue;
      torch::serialize::OutputArchive one(archive.compilation_unit());
      state->serialize(one);
      archive.write(place_of(g, i), one);
    }
  }
}

void Optimizer::load(torch::serialize::InputArchive& archive) {
  const at::NoGradGuard no_grad;
  const c10::IValue version = detail::read_value(archive, "tandem");
  if (!version.isInt() || version.toInt() < 1 || version.toInt() > kArchiveVersion) {
    throw StateError(fmt::format("Invalid state: its format is not version {}", kArchiveVersion));
  }
  const c10::IValue saved_rule = detail::read_value(archive, "rule");
  if (!saved_rule.isString() || saved_rule.toStringRef() != rule()) {
    throw StateError(fmt::format("Invalid state: it is of rule '{}', expected '{}'",
                                 saved_rule.isString() ? saved_rule.toStringRef() : "", rule()));
  }
  const std::int64_t groups = detail::read_count(archive, "groups");
  if (groups != static_cast<std::int64_t>(param_groups_.size())) {
    throw StateError(fmt::format("Invalid state: it has {} parameter groups, expected {}", groups,
                                 param_groups_.size()));
  }
  std::vector<std::unique_ptr<torch::optim::OptimizerOptions>> options;
  Parts fresh{.rule = rule()};
  fresh.names = parts_->names;
  fresh.skipped = static_cast<std::uint64_t>(detail::read_count(archive, "skipped"));
  detail::StateMap states;
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    const std::string at = fmt::format("group/{}", g);
    const std::vector<std::int64_t> sizes = detail::read_list(archive, at + "/sizes");
    const std::vector<at::Tensor>& parameters = param_groups_[g].params();
    if (sizes.size() != parameters.size()) {
      throw StateError(fmt::format("Invalid state: group {} has {} parameters, expected {}", g,
                                   sizes.size(), parameters.size()));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == parameters[i].numel()) continue;
      throw StateError(fmt::format("Invalid state: {} has {} elements in it, expected {}",
                                   parts_->name_of(parameters[i], g, i), sizes[i],
                                   parameters[i].numel()));
    }
    torch::serialize::InputArchive saved_options;
    if (!archive.try_read(at + "/options", saved_options)) {
      throw StateError(fmt::format("Invalid state: '{}/options' is missing", at));
    }
    options.push_back(param_groups_[g].options().clone());
    options.back()->serialize(saved_options);
    const auto& own = static_cast<const Options&>(*options.back());
    fresh.settings.push_back(detail::settings_of(own));
    detail::look_at(own, fresh.snapshots.emplace_back());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      torch::serialize::InputArchive one;
      if (!archive.try_read(place_of(g, i), one)) continue;
      auto state = std::make_unique<ParamState>();
      state->serialize(one);
      states[detail::state_key(parameters[i])] = std::move(state);
    }
  }
  if (version.toInt() == 1) {
    const auto units = detail::units_of_version_1(archive, param_groups_);
    fresh.skipped += detail::take_version_1(rule(), units, fresh.settings, states);
  } else {
    fresh.epoch = static_cast<std::uint64_t>(detail::read_count(archive, "epoch"));
  }
  fresh.take_loaded(param_groups_, states);
  // All of it fits: from here on nothing throws.
  for (std::size_t g = 0; g < options.size(); ++g) {
    param_groups_[g].set_options(std::move(options[g]));
  }
  state_ = std::move(states);
  *parts_ = std::move(fresh);
}

}  // namespace tandem::optim
