// SPDX-License-Identifier: MIT
// What stands behind an Optimizer of this adapter: its units, and what was read off its groups.
#pragma once

#include <tandem/torch/optimizer.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

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

  std::vector<detail::Unit> units = {};
  std::unordered_map<const void*, std::size_t> unit_of = {};  // by TensorImpl
  std::uint64_t skipped = 0;

  // Of the step under way.
  std::vector<Present> present = {};
  std::vector<std::size_t> stepped = {};  // units

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
  /// Makes the units that are missing, and lists those of this step.
  void find_units(const Groups& groups);
  /// Whether the unit's parameters are still those that its state was made for, and Full-TO, which
  /// cannot leave one out, has all gradients.
  void check_members_of(const detail::Unit& unit) const;
  /// Steps the units of this step. None of them changes anything before all are prepared.
  void step_present(const Groups& groups);
  void step_unit(std::size_t index);
  /// The members of the unit of a parameter, as a new optimizer makes it.
  std::vector<detail::Member> members_with(const Present& wanted, const Groups& groups) const;
  detail::Unit& add_unit(std::vector<detail::Member> members);
  /// The same for a saved state, which may claim anything: throws StateError.
  detail::Unit& restore_unit(std::vector<detail::Member> members);
};

}  // namespace tandem::optim
