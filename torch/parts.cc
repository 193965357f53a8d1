// SPDX-License-Identifier: MIT
#include "parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include "threads.h"

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
    for (const std::unique_ptr<Unit>& unit : units) {
      if (changed) {
        unit->configure(settings);
      } else {
        unit->move_rates(settings);
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

std::vector<Member> Optimizer::Parts::members_with(const Present& wanted, const Groups& groups,
                                                   const detail::StateMap& states) const {
  const Scope scope = settings[wanted.group].scope;
  if (scope == Scope::tensor) {
    return {detail::member_of(*wanted.parameter, wanted.group, wanted.index)};
  }
  std::vector<Member> learning;
  std::vector<Member> started;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (scope == Scope::group && g != wanted.group) continue;
    if (settings[g].scope != scope) {
      throw std::invalid_argument(
          fmt::format("{}: groups {} and {} differ in scope; with Scope::whole all must have it",
                      rule, wanted.group, g));
    }
    const std::vector<at::Tensor>& parameters = groups[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].numel() == 0) continue;
      Member member = detail::member_of(parameters[i], g, i);
      if (states.find(member.key) != states.end()) {
        started.push_back(std::move(member));
      } else if (parameters[i].requires_grad() || parameters[i].grad().defined()) {
        learning.push_back(std::move(member));
      }
    }
  }
  if (!started.empty() && std::none_of(started.begin(), started.end(), [&](const Member& member) {
        return member.parameter.is_same(*wanted.parameter);
      })) {
    throw std::invalid_argument(fmt::format(
        "{}: {} came after the first step of its scope, whose matrix has no place for it; "
        "Scope::group or Scope::tensor give later ones their own",
        rule, name_of(*wanted.parameter, wanted.group, wanted.index)));
  }
  std::vector<Member>& members = started.empty() ? learning : started;
  const at::ScalarType type = wanted.parameter->scalar_type();
  for (const Member& member : members) {
    if (member.parameter.scalar_type() == type) continue;
    throw std::invalid_argument(fmt::format(
        "{}: {} is {} and {} is {}: parameters that share one matrix must be of one type; "
        "Scope::tensor gives each its own",
        rule, name_of(*wanted.parameter, wanted.group, wanted.index), at::toString(type),
        name_of(member), at::toString(member.parameter.scalar_type())));
  }
  return std::move(members);
}

Unit& Optimizer::Parts::add_unit(std::vector<Member> members) {
  const bool checks = one_unit();
  try {
    units.push_back(std::make_unique<Unit>(rule, std::move(members), settings, checks));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(with_rule(rule, error));
  }
  Unit& unit = *units.back();
  for (const Member& member : unit.members()) {
    unit_of[member.parameter.unsafeGetTensorImpl()] = &unit;
  }
  return unit;
}

void Optimizer::Parts::forget(const Unit& unit) noexcept {
  for (const Member& member : unit.members()) {
    const auto found = unit_of.find(member.parameter.unsafeGetTensorImpl());
    if (found != unit_of.end() && found->second == &unit) unit_of.erase(found);
  }
  std::erase_if(units, [&](const std::unique_ptr<Unit>& one) { return one.get() == &unit; });
}

StateError Optimizer::Parts::state_error(const Unit& unit, const detail::BadState& error) const {
  return StateError(
      fmt::format("{}: {}: {}", rule, name_of(unit.members()[error.member()]), error.what()));
}

void Optimizer::Parts::take_loaded(const Groups& groups, const detail::StateMap& states) {
  try {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::vector<at::Tensor>& parameters = groups[g].params();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor& parameter = parameters[i];
        if (unit_of.contains(parameter.unsafeGetTensorImpl())) continue;
        if (states.find(detail::state_key(parameter)) == states.end()) continue;
        if (parameter.numel() == 0) {
          throw StateError(
              fmt::format("Invalid state: it has {}, which is empty", name_of(parameter, g, i)));
        }
        Unit& unit = add_unit(members_with({&parameter, g, i}, groups, states));
        try {
          unit.memory().look_up(states, unit.members());
          unit.memory().trust();
          unit.bind();
        } catch (const detail::BadState& error) {
          throw state_error(unit, error);
        }
        unit.in_first_step = false;
        stepped.push_back(&unit);
      }
    }
    check_memory();
  } catch (const std::invalid_argument& error) {
    throw StateError(fmt::format("Invalid state: {}", error.what()));
  }
  stepped.clear();
}

void Optimizer::Parts::find_units(const Groups& groups, detail::StateMap& states) {
  for (const std::unique_ptr<Unit>& unit : units) unit->in_step = false;
  stepped.clear();
  for (const Present& one : present) {
    const auto found = unit_of.find(one.parameter->unsafeGetTensorImpl());
    Unit* unit = found == unit_of.end() ? nullptr : found->second;
    if (unit != nullptr && unit->in_step) continue;
    const auto look_up = [&] {
      try {
        return unit->memory().look_up(states, unit->members());
      } catch (const detail::BadState& error) {
        throw state_error(*unit, error);
      }
    };
    std::size_t states_found = 0;
    if (unit != nullptr) {
      states_found = look_up();
      // Somebody cleared the state: a new start, with whatever learns now.
      if (states_found == 0) {
        forget(*unit);
        unit = nullptr;
      }
    }
    if (unit == nullptr) {
      unit = &add_unit(members_with(one, groups, states));
      states_found = look_up();
    }
    if (states_found == 0) {
      unit->memory().create(states, unit->members());
    } else if (states_found < unit->members().size()) {
      const Member& without = unit->members()[unit->memory().first_without()];
      throw StateError(
          fmt::format("{}: {} has no state, and other parameters of its scope have: they share "
                      "one matrix",
                      rule, name_of(without)));
    }
    unit->in_step = true;
    stepped.push_back(unit);
    check_members_of(*unit);
  }
}

void Optimizer::Parts::check_members_of(const Unit& unit) const {
  for (const Member& member : unit.members()) {
    const at::Tensor& parameter = member.parameter;
    if (parameter.scalar_type() != unit.type() || parameter.dim() != member.dimensions ||
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

void Optimizer::Parts::check_memory() const {
  struct Piece {
    const char* begin;
    const char* end;
    const Unit* state_of;  // nullptr: weights
  };
  std::vector<Piece> pieces;
  const auto add = [&](const void* data, std::size_t bytes, const Unit* state_of) {
    const char* begin = static_cast<const char*>(data);
    if (bytes > 0) pieces.push_back({begin, begin + bytes, state_of});
  };
  for (const Unit* unit : stepped) {
    for (const auto& place : unit->memory().places()) add(place.data, place.bytes, unit);
    for (const at::Tensor& weights : unit->weights()) {
      add(weights.data_ptr(), weights.nbytes(), nullptr);
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& x, const Piece& y) { return std::less<>()(x.begin, y.begin); });
  const Piece* last = nullptr;  // the one that ends last
  for (const Piece& piece : pieces) {
    const bool overlap = last != nullptr && std::less<>()(piece.begin, last->end);
    if (overlap && (piece.state_of != nullptr || last->state_of != nullptr)) {
      const Unit& unit = *(piece.state_of != nullptr ? piece.state_of : last->state_of);
      throw StateError(
          fmt::format("{}: {}: its state shares memory with other state or with weights, expected "
                      "tensors of its own",
                      rule, name_of(unit.members().front())));
    }
    if (last == nullptr || std::less<>()(last->end, piece.end)) last = &piece;
  }
}

void Optimizer::Parts::step_present(const Groups& groups, detail::StateMap& states) {
  std::vector<Unit*> stepped_before = stepped;
  try {
    find_units(groups, states);
    std::vector<std::size_t> sizes;
    for (const Unit* unit : stepped) sizes.push_back(unit->core().dimension());
    // One alone prepares itself in its step.
    const bool several = stepped.size() > 1;
    detail::for_each_item(sizes, false, [&](std::size_t i) { prepare_unit(*stepped[i], several); });
    if (std::any_of(stepped.begin(), stepped.end(),
                    [](const Unit* unit) { return unit->memory().rebound(); })) {
      check_memory();
    }
    // A unit skips a step where it is the only one.
    bool skips = false;
    detail::for_each_item(sizes, false, [&](std::size_t i) {
      if (!step_unit(*stepped[i])) skips = true;
    });
    if (skips) {
      undo(stepped_before, states);
      ++skipped;
      return;
    }
  } catch (...) {
    undo(stepped_before, states);
    throw;
  }
  for (Unit* unit : stepped) {
    unit->release();
    unit->in_first_step = false;
  }
}

void Optimizer::Parts::undo(std::vector<Unit*>& stepped_before, detail::StateMap& states) noexcept {
  for (const std::unique_ptr<Unit>& unit : units) {
    unit->release();
    unit->memory().undo(states, unit->members());
    if (!unit->in_first_step) continue;
    for (const Member& member : unit->members()) {
      unit_of.erase(member.parameter.unsafeGetTensorImpl());
    }
  }
  std::erase_if(units, [](const std::unique_ptr<Unit>& unit) { return unit->in_first_step; });
  stepped.swap(stepped_before);
  std::erase_if(stepped, [&](const Unit* one) {
    return std::none_of(units.begin(), units.end(),
                        [&](const std::unique_ptr<Unit>& unit) { return unit.get() == one; });
  });
}

void Optimizer::Parts::prepare_unit(Unit& unit, bool core) const {
  try {
    unit.prepare(core);
  } catch (const detail::BadState& error) {
    throw state_error(unit, error);
  }
}

bool Optimizer::Parts::step_unit(Unit& unit) const {
  try {
    return unit.step(settings[unit.members().front().group].rounding);
  } catch (const NonFiniteGradient& error) {
    throw NonFiniteGradient(
        fmt::format("{}: the gradient of {} is not finite at element {}; no weights and no state "
                    "were changed",
                    rule, name_of(unit.members()[error.segment()]), error.index()),
        error.segment(), error.index());
  }
}

}  // namespace tandem::optim
