// SPDX-License-Identifier: MIT
// A unit is one optimizer of the library with the tensors that it steps over: a tensor of its own
// for elementwise rules and Block-TO, a whole scope for RO-TO and Full-TO.
#pragma once

#include <ATen/core/Tensor.h>
#include <tandem/executor.h>
#include <tandem/optimizer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fields.h"

namespace tandem::optim::detail {

/// torch's own thread pool.
std::shared_ptr<Executor> torch_executor();

/// Calls work(i) for items of these sizes, without torch's autograd; allocates before the first call
/// and not after it. Waking threads for each of many
/// tensors costs more than what is done to a small one, so each thread takes a share of the items,
/// backwards where `backwards` says so; only an item that is a large part of all is shared by all
/// threads.
void for_each_item(const std::vector<std::size_t>& sizes, bool backwards,
                   const std::function<void(std::size_t)>& work);

/// A parameter in its unit.
struct Member {
  at::Tensor parameter;
  std::size_t group = 0;
  std::size_t index = 0;  // in the group
  /// How the state of the parameter lies in memory: as the parameter did when the unit was made.
  std::vector<std::int64_t> strides = {};
  std::size_t count = 0;  // of elements, then

  std::int64_t dimensions() const { return static_cast<std::int64_t>(strides.size()); }
};

/// Dense strides for the state of a parameter.
std::vector<std::int64_t> state_strides(const at::Tensor& parameter);
/// A parameter as a new unit takes it.
Member member_of(const at::Tensor& parameter, std::size_t group, std::size_t index);
/// Whether strides give each element of a tensor of this shape a place of its own, without gaps.
bool are_dense(const at::Tensor& parameter, const std::vector<std::int64_t>& strides);

class Unit {
 public:
  Unit(const std::string& rule, std::vector<Member> members, const std::vector<Settings>& groups,
       bool checks_gradient);

  /// Takes over the options of the groups, where they changed. Throws std::invalid_argument where
  /// groups of one scope differ in what must be one.
  void configure(const std::vector<Settings>& groups);
  /// The same where nothing but rates has changed; costs next to nothing.
  void move_rates(const std::vector<Settings>& groups);
  /// Looks up the tensors for a step on the members that have a gradient, at least one, and, where
  /// `core` says so, does what of the library's step can fail; changes neither weights nor state.
  void prepare(bool core);
  /// The step that was prepared. NonFiniteGradient::segment() is the number of the member.
  void step(const Rounding& rounding);
  /// Lets go of the tensors of a step that was prepared and will not be made.
  void release() noexcept;

  at::ScalarType type() const { return type_; }
  const std::vector<Member>& members() const { return members_; }
  tandem::Optimizer& core() { return *core_; }
  const tandem::Optimizer& core() const { return *core_; }

 private:
  template <class T>
  void prepare_as(bool core);
  template <class T>
  void step_as(const Rounding& rounding);
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
