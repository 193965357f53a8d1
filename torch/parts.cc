// SPDX-License-Identifier: MIT
#include "parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <typeinfo>
#include <utility>

namespace tandem::optim {

using detail::Member;
using detail::Unit;

namespace {

/// Messages of the library begin with the rule's name, those of units do not.
std::string with_rule(const std::string& rule, const std::exception& error) {
  const std::string what = error.what();
  return what.starts_with(rule) ? what : fmt::format("{}: {}", rule, what);
}

}  // namespace

Options& detail::own_options(torch::optim::OptimizerParamGroup& group, const Options& defaults,
                             const std::string& rule, std::size_t index) {
  auto& options = group.options();
  if (typeid(options) != typeid(defaults)) {
    throw std::invalid_argument(fmt::format(
        "{}: the options of parameter group {} are not those of this optimizer", rule, index));
  }
  return static_cast<Options&>(options);
}

std::string Optimizer::Parts::name_of(const at::Tensor& parameter, std::size_t group,
                                      std::size_t index) const {
  const auto named = names.find(parameter.unsafeGetTensorImpl());
  if (named != names.end()) return fmt::format("parameter '{}'", named->second);
  return fmt::format("parameter {} of group {}", index, group);
}

void Optimizer::Parts::read_groups(Groups& groups, const Options& defaults) {
  try {
    take_groups(groups, defaults);
  } catch (...) {
    // Some units may have the new options and others not: all are looked at again in the next step.
    for (detail::Snapshot& snapshot : snapshots) snapshot.others.clear();
    throw;
  }
}

void Optimizer::Parts::take_groups(Groups& groups, const Options& defaults) {
  bool changed = false;
  bool moved = false;  // rates alone
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Options& options = detail::own_options(groups[g], defaults, rule, g);
    // A group that torch's own add_param_group took.
    if (g >= settings.size() || g >= snapshots.size()) {
      detail::fill_up(options, defaults);
      settings.resize(g + 1);
      snapshots.resize(g + 1);
    }
    detail::look_at(options, now);
    if (now.others != snapshots[g].others) {
      settings[g] = detail::settings_of(options);
      changed = true;
    } else if (now.rates != snapshots[g].rates) {
      settings[g].rates = now.rates;
      moved = true;
    } else {
      continue;
    }
    std::swap(now, snapshots[g]);
  }
  if (!changed && !moved) return;
  try {
    for (Unit& unit : units) {
      if (changed) {
        unit.configure(settings);
      } else {
        unit.move_rates(settings);
      }
    }
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(with_rule(rule, error));
  }
}

bool Optimizer::Parts::one_unit() const {
  return std::all_of(settings.begin(), settings.end(),
                     [](const detail::Settings& group) { return group.scope == Scope::whole; });
}

bool Optimizer::Parts::gradients_are_finite() const {
  std::vector<std::size_t> sizes;
  for (const Present& one : present) {
    sizes.push_back(static_cast<std::size_t>(one.parameter->numel()));
  }
  std::vector<std::size_t> found = sizes;
  // Backwards, so that the step finds the front in the cache.
  detail::for_each_item(sizes, true, [&](std::size_t k) {
    if (settings[present[k].group].on_nonfinite == OnNonFinite::ignore) return;
    found[k] = detail::first_nonfinite(present[k].parameter->grad());
  });
  for (std::size_t k = 0; k < present.size(); ++k) {
    const auto& [parameter, group, index] = present[k];
    const OnNonFinite policy = settings[group].on_nonfinite;
    const std::size_t at = found[k];
    if (at == static_cast<std::size_t>(parameter->numel())) continue;
    if (policy == OnNonFinite::skip) return false;
    throw NonFiniteGradient(
        fmt::format("{}: the gradient of {} is not finite at element {}; no weights and no state "
                    "were changed",
                    rule, name_of(*parameter, group, index), at),
        k, at);
  }
  return true;
}

std::vector<Member> Optimizer::Parts::members_with(const Present& wanted,
                                                   const Groups& groups) const {
  const Scope scope = settings[wanted.group].scope;
  if (scope == Scope::tensor) {
    return {detail::member_of(*wanted.parameter, wanted.group, wanted.index)};
  }
  std::vector<Member> members;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (scope == Scope::group && g != wanted.group) continue;
    if (settings[g].scope != scope) {
      throw std::invalid_argument(
          fmt::format("{}: groups {} and {} differ in scope; with Scope::whole all must have it",
                      rule, wanted.group, g));
    }
    const std::vector<at::Tensor>& parameters = groups[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& parameter = parameters[i];
      const bool learns = parameter.requires_grad() || parameter.grad().defined();
      if (!learns || parameter.numel() == 0) continue;
      if (parameter.scalar_type() != wanted.parameter->scalar_type()) {
        throw std::invalid_argument(fmt::format(
            "{}: {} is {} and {} is {}: parameters that share one matrix must be of one type; "
            "Scope::tensor gives each its own",
            rule, name_of(*wanted.parameter, wanted.group, wanted.index),
            at::toString(wanted.parameter->scalar_type()), name_of(parameter, g, i),
            at::toString(parameter.scalar_type())));
      }
      members.push_back(detail::member_of(parameter, g, i));
    }
  }
  return members;
}

Unit& Optimizer::Parts::add_unit(std::vector<Member> members) {
  const bool checks = one_unit();
  try {
    units.emplace_back(rule, std::move(members), settings, checks);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(with_rule(rule, error));
  }
  for (const Member& member : units.back().members()) {
    unit_of[member.parameter.unsafeGetTensorImpl()] = units.size() - 1;
  }
  return units.back();
}

Unit& Optimizer::Parts::restore_unit(std::vector<Member> members) {
  std::set<const void*> seen;
  for (const Member& member : members) {
    const void* key = member.parameter.unsafeGetTensorImpl();
    if (member.count == 0 || unit_of.contains(key) || !seen.insert(key).second) {
      throw StateError(
          fmt::format("Invalid state: it has {} twice, or without elements", name_of(member)));
    }
  }
  try {
    return add_unit(std::move(members));
  } catch (const std::invalid_argument& error) {
    throw StateError(fmt::format("Invalid state: {}", error.what()));
  }
}

void Optimizer::Parts::find_units(const Groups& groups) {
  stepped.clear();
  std::vector<bool> listed(units.size(), false);
  for (const Present& one : present) {
    const void* key = one.parameter->unsafeGetTensorImpl();
    auto found = unit_of.find(key);
    if (found == unit_of.end()) {
      const Scope scope = settings[one.group].scope;
      const bool started = std::any_of(units.begin(), units.end(), [&](const Unit& unit) {
        return scope == Scope::whole ||
               (scope == Scope::group && unit.members().front().group == one.group);
      });
      if (started) {
        throw std::invalid_argument(fmt::format(
            "{}: {} came after the first step of its scope, whose matrix has no place for it; "
            "Scope::group or Scope::tensor give later ones their own",
            rule, name_of(*one.parameter, one.group, one.index)));
      }
      add_unit(members_with(one, groups));
      listed.push_back(false);
      found = unit_of.find(key);
    }
    if (!listed[found->second]) stepped.push_back(found->second);
    listed[found->second] = true;
  }
  for (const std::size_t unit : stepped) check_members_of(units[unit]);
}

void Optimizer::Parts::check_members_of(const Unit& unit) const {
  for (const Member& member : unit.members()) {
    const at::Tensor& parameter = member.parameter;
    if (parameter.scalar_type() != unit.type() || parameter.dim() != member.dimensions() ||
        static_cast<std::size_t>(parameter.numel()) != member.count) {
      throw std::invalid_argument(fmt::format(
          "{}: {} was of type {} with {} elements when its state was made, and is now {} with {}",
          rule, name_of(member), at::toString(unit.type()), member.count,
          at::toString(parameter.scalar_type()), parameter.numel()));
    }
    if (rule != "full-to" || parameter.grad().defined()) continue;
    throw std::invalid_argument(fmt::format(
        "{}: {} has no gradient, and Full-TO needs those of all parameters of a scope in each "
        "step; Scope::tensor gives each its own",
        rule, name_of(member)));
  }
}

void Optimizer::Parts::step_present(const Groups& groups) {
  const std::size_t units_before = units.size();
  std::vector<std::size_t> stepped_before = stepped;
  try {
    find_units(groups);
    std::vector<std::size_t> sizes;
    for (const std::size_t unit : stepped) sizes.push_back(units[unit].core().dimension());
    // One alone prepares itself in its step.
    const bool several = stepped.size() > 1;
    detail::for_each_item(sizes, false, [&](std::size_t i) { units[stepped[i]].prepare(several); });
    detail::for_each_item(sizes, false, [&](std::size_t i) { step_unit(stepped[i]); });
  } catch (...) {
    // A step that fails leaves nothing behind.
    for (Unit& unit : units) unit.release();
    while (units.size() > units_before) {
      for (const Member& member : units.back().members()) {
        unit_of.erase(member.parameter.unsafeGetTensorImpl());
      }
      units.pop_back();
    }
    stepped.swap(stepped_before);
    throw;
  }
}

void Optimizer::Parts::step_unit(std::size_t index) {
  Unit& unit = units[index];
  const Member& first = unit.members().front();
  // Units draw their own noise.
  Rounding rounding = settings[first.group].rounding;
  rounding.seed += 0x9E3779B97F4A7C15ULL * (index + 1);
  try {
    unit.step(rounding);
  } catch (const NonFiniteGradient& error) {
    throw NonFiniteGradient(
        fmt::format("{}: the gradient of {} is not finite at element {}; no weights and no state "
                    "were changed",
                    rule, name_of(unit.members()[error.segment()]), error.index()),
        error.segment(), error.index());
  }
}

}  // namespace tandem::optim
