// SPDX-License-Identifier: MIT
// A unit is one optimizer of the library with the tensors that it steps over: a tensor of its own
// for elementwise rules and Block-TO, a whole scope for RO-TO and Full-TO. It remembers nothing from
// step to step: the state is in the tensors of state().
#pragma once

#include <ATen/core/Tensor.h>
#include <tandem/optimizer.h>

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fields.h"
#include "unit_memory.h"

namespace tandem::optim::detail {

class Unit {
 public:
  Unit(const std::string& rule, std::vector<Member> members, const std::vector<Settings>& groups,
       bool checks_gradient);

  /// Takes over the options of the groups, where they changed. Throws std::invalid_argument where
  /// groups of one scope differ in what must be one.
  void configure(const std::vector<Settings>& groups);
  /// The same where nothing but rates has changed; costs next to nothing.
  void move_rates(const std::vector<Settings>& groups);
  /// Looks up the tensors for a step on the members that have a gradient, at least one, and on the
  /// state that memory() found or made, and, where `core` says so, does what of the library's step
  /// can fail; changes neither weights nor state.
  void prepare(bool core);
  /// The step that was prepared; false where it was skipped. NonFiniteGradient::segment() is the
  /// number of the member.
  bool step(const Rounding& rounding);
  /// Lets go of the tensors of a step that was prepared and will not be made.
  void release() noexcept;

  at::ScalarType type() const { return type_; }
  const std::vector<Member>& members() const { return members_; }
  /// What the step that was prepared writes to: the members' own memory, or copies.
  const std::vector<at::Tensor>& weights() const { return weights_; }
  tandem::Optimizer& core() { return *core_; }
  const tandem::Optimizer& core() const { return *core_; }
  UnitMemory& memory() { return *memory_; }
  const UnitMemory& memory() const { return *memory_; }
  /// For a state that was loaded: checks it, without tensors of a step.
  void bind() { memory_->bind(*core_, members_); }

  // For the owner.
  bool in_step = false;
  bool in_first_step = true;

 private:
  template <class T>
  void prepare_as(bool core);
  template <class T>
  bool step_as(const Rounding& rounding);
  template <class T>
  std::vector<Segment<T>>& segments() {
    return std::get<std::vector<Segment<T>>>(segments_);
  }
  const Settings& first_of(const std::vector<Settings>& groups) const {
    return groups[members_.front().group];
  }
  /// A member's segment, with the lr and weight_decay of its group where the unit has several groups.
  SegmentSpec spec_of(const Member& member, const std::vector<Settings>& groups) const;
  std::vector<SegmentSpec> specs(const std::vector<Settings>& groups) const;
  OptionMap options(const std::vector<Settings>& groups) const;

  std::vector<Member> members_;
  at::ScalarType type_;
  bool several_groups_ = false;
  bool checks_gradient_ = false;
  Rates rates_;  // as the core has them, of the first member's group
  std::unique_ptr<tandem::Optimizer> core_;
  std::unique_ptr<UnitMemory> memory_;

  // Of the step under way.
  std::vector<at::Tensor> weights_;    // the members' own, or copies in the order of the state
  std::vector<at::Tensor> gradients_;  // the same; undefined where a member has none
  std::tuple<std::vector<Segment<float>>, std::vector<Segment<double>>,
             std::vector<Segment<BFloat16>>>
      segments_;  // one of them is used
};

/// Where the first NaN or infinity is in memory, or the number of elements.
std::size_t first_nonfinite(const at::Tensor& gradient);

}  // namespace tandem::optim::detail
