// SPDX-License-Identifier: MIT
// What stands behind an Optimizer of this adapter: its units, and what was read off its groups.
#pragma once

#include <tandem/torch/optimizer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "state_map.h"
#include "units.h"

namespace tandem::optim {

namespace detail {

/// The options of a group as what they must be; throws std::invalid_argument where they are another
/// optimizer's.
Options& own_options(torch::optim::OptimizerParamGroup& group, const Options& defaults,
                     const std::string& rule, std::size_t index);

}  // namespace detail

struct Optimizer::Parts {
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  /// A parameter that has a gradient in this step.
  struct Present {
    const at::Tensor* parameter;
    std::size_t group;
    std::size_t index;
  };

  std::string rule;
  std::unordered_map<const void*, std::string> names = {};  // by TensorImpl

  std::vector<detail::Settings> settings = {};   // a group each
  std::vector<detail::Snapshot> snapshots = {};  // of the options behind them
  detail::Snapshot now = {};                     // of a group, while it is looked at

  std::vector<std::unique_ptr<detail::Unit>> units = {};
  std::unordered_map<const void*, detail::Unit*> unit_of = {};  // by TensorImpl
  std::uint64_t skipped = 0;
  std::uint64_t epoch = 0;  // of schedules, which other languages have; kept for them

  // Of the step under way.
  std::vector<Present> present = {};
  std::vector<detail::Unit*> stepped = {};

  /// "parameter 'conv1.weight'", or by its place where it has no name.
  std::string name_of(const at::Tensor& parameter, std::size_t group, std::size_t index) const;
  std::string name_of(const detail::Member& member) const {
    return name_of(member.parameter, member.group, member.index);
  }

  /// Takes over the groups' options: completes those of groups that were added behind our back, and
  /// tells the units what changed.
  void read_groups(Groups& groups, const Options& defaults);
  void take_groups(Groups& groups, const Options& defaults);
  /// Whether all parameters are in one unit, which then looks at the gradient by itself.
  bool one_unit() const;
  /// Throws NonFiniteGradient, or false where the step is to be skipped.
  bool gradients_are_finite() const;
  /// Finds the units of this step and their states; makes those that are missing.
  void find_units(const Groups& groups, detail::StateMap& states);
  /// Whether the unit's parameters are still those that its state was made for, and Full-TO, which
  /// cannot leave one out, has all gradients.
  void check_members_of(const detail::Unit& unit) const;
  /// Whether each array of state has memory of its own.
  void check_memory() const;
  /// Steps the units of this step. None of them changes anything before all are prepared.
  void step_present(const Groups& groups, detail::StateMap& states);
  void prepare_unit(detail::Unit& unit, bool core) const;
  bool step_unit(detail::Unit& unit) const;
  /// After a step that was not made: nothing is left of it.
  void undo(std::vector<detail::Unit*>& stepped_before, detail::StateMap& states) noexcept;
  /// The members of the unit of a parameter: those of its scope that have a state, or, before its
  /// first step, those that learn.
  std::vector<detail::Member> members_with(const Present& wanted, const Groups& groups,
                                           const detail::StateMap& states) const;
  detail::Unit& add_unit(std::vector<detail::Member> members);
  void forget(const detail::Unit& unit) noexcept;
  /// Units for states that were loaded, which may hold anything: throws StateError.
  void take_loaded(const Groups& groups, const detail::StateMap& states);
  StateError state_error(const detail::Unit& unit, const detail::BadState& error) const;
};

}  // namespace tandem::optim
