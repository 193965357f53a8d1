// SPDX-License-Identifier: MIT
#include "units.h"

#include <fmt/format.h>
#include <tandem/registry.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/parallel.h"
#include "kernels/kernels.h"
#include "kernels/narrow.h"
#include "strides.h"
#include "threads.h"

namespace tandem::optim::detail {
namespace {

/// The library's own type for the elements of a tensor.
template <class T>
T* elements(const at::Tensor& tensor) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    static_assert(sizeof(BFloat16) == sizeof(at::BFloat16));
    return reinterpret_cast<BFloat16*>(tensor.data_ptr<at::BFloat16>());
  } else {
    return tensor.data_ptr<T>();
  }
}

std::size_t count_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

template <class T>
std::size_t first_nonfinite_in(const T* values, std::size_t count) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    std::array<float, kernels::kBlock> wide;
    for (std::size_t begin = 0; begin < count; begin += wide.size()) {
      const std::size_t part = std::min(wide.size(), count - begin);
      kernels::widen(values + begin, part, wide.data());
      const std::size_t at = kernels::kernels<float>().first_nonfinite(wide.data(), part);
      if (at < part) return begin + at;
    }
    return count;
  } else {
    return kernels::kernels<T>().first_nonfinite(values, count);
  }
}

template <class T>
std::size_t first_nonfinite_of(const at::Tensor& tensor) {
  constexpr std::size_t kElementsPerThread = std::size_t{1} << 15;
  const T* values = elements<T>(tensor);
  const std::size_t count = count_of(tensor);
  std::atomic<std::size_t> found{count};
  parallel_ranges(*torch_executor(), count, kElementsPerThread,
                  [&](std::size_t first, std::size_t last) {
                    const std::size_t at = first + first_nonfinite_in(values + first, last - first);
                    std::size_t seen = found.load();
                    while (at < last && at < seen && !found.compare_exchange_weak(seen, at)) {
                    }
                  });
  return found.load();
}

}  // namespace

std::size_t first_nonfinite(const at::Tensor& gradient) {
  const at::Tensor dense =
      gradient.is_non_overlapping_and_dense() ? gradient : gradient.contiguous();
  switch (dense.scalar_type()) {
    case at::kDouble:
      return first_nonfinite_of<double>(dense);
    case at::kBFloat16:
      return first_nonfinite_of<BFloat16>(dense);
    default:
      return first_nonfinite_of<float>(dense);
  }
}

Unit::Unit(const std::string& rule, std::vector<Member> members,
           const std::vector<Settings>& groups, bool checks_gradient)
    : members_(std::move(members)),
      type_(members_.front().parameter.scalar_type()),
      checks_gradient_(checks_gradient) {
  several_groups_ = std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    return member.group != members_.front().group;
  });
  core_ = make_optimizer(rule, specs(groups), options(groups));
  core_->set_executor(torch_executor());
  memory_ = std::make_unique<UnitMemory>(rule, *core_, element_type(type_));
  // State that is not shaped like the parameters has no strides to say in which order it is.
  if (!memory_->shaped()) {
    for (Member& member : members_) member.strides = row_major(member.parameter);
  }
  rates_ = first_of(groups).rates;
}

SegmentSpec Unit::spec_of(const Member& member, const std::vector<Settings>& groups) const {
  SegmentSpec spec{member.count};
  // A place of its own in the noise of rounded state, whatever else is trained beside it.
  spec.first_element = (static_cast<std::uint64_t>(member.group) << 56) ^
                       (static_cast<std::uint64_t>(member.index) << 36);
  if (several_groups_) {
    const Rates& rates = groups[member.group].rates;
    spec.lr = rates.lr;
    spec.weight_decay = rates.weight_decay.value_or(0);
  }
  return spec;
}

std::vector<SegmentSpec> Unit::specs(const std::vector<Settings>& groups) const {
  std::vector<SegmentSpec> specs;
  for (const Member& member : members_) specs.push_back(spec_of(member, groups));
  return specs;
}

OptionMap Unit::options(const std::vector<Settings>& groups) const {
  const std::size_t first = members_.front().group;
  OptionMap map = core_options(groups[first]);
  std::size_t seen = first;
  for (const Member& member : members_) {
    if (member.group == seen) continue;
    seen = member.group;
    const OptionMap other = core_options(groups[member.group]);
    for (const auto& [name, value] : map) {
      if (name == "lr" || name == "weight_decay" || other.at(name) == value) continue;
      throw std::invalid_argument(fmt::format(
          "the {} of group {} is {}, of group {} {}: groups that share one matrix may differ in lr "
          "and weight_decay only; Scope::group gives each its own",
          name, first, value, member.group, other.at(name)));
    }
  }
  const OnNonFinite policy = checks_gradient_ ? groups[first].on_nonfinite : OnNonFinite::ignore;
  map["on_nonfinite"] = names_of(policy).at(static_cast<std::size_t>(policy));
  return map;
}

void Unit::configure(const std::vector<Settings>& groups) {
  core_->set_options(specs(groups), options(groups));
  rates_ = first_of(groups).rates;
}

void Unit::move_rates(const std::vector<Settings>& groups) {
  const Rates& rates = first_of(groups).rates;
  if (several_groups_) {
    const bool differ = std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      const Rates& other = groups[member.group].rates;
      return other.alpha != rates.alpha || other.beta != rates.beta || other.l2 != rates.l2;
    });
    if (differ) return configure(groups);  // which says so
    for (std::size_t i = 0; i < members_.size(); ++i) {
      core_->set_segment(i, spec_of(members_[i], groups));
    }
  }
  if (rates == rates_) return;
  if (rates.lr != rates_.lr) core_->set_rate("lr", rates.lr);
  if (rates.alpha != rates_.alpha) core_->set_rate("alpha", *rates.alpha);
  if (rates.beta != rates_.beta) core_->set_rate("beta", *rates.beta);
  if (rates.l2 != rates_.l2) core_->set_decay("l2", *rates.l2);
  if (rates.weight_decay != rates_.weight_decay) {
    core_->set_decay("weight_decay", *rates.weight_decay);
  }
  rates_ = rates;
}

template <class T>
void Unit::prepare_as(bool core) {
  memory_->bind(*core_, members_);
  weights_.resize(members_.size());
  gradients_.resize(members_.size());
  segments<T>().resize(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const at::Tensor& gradient = member.parameter.grad();
    weights_[i] = arranged(member.parameter, member.strides);
    gradients_[i] = gradient.defined() ? arranged(gradient, member.strides) : at::Tensor();
    const T* values = gradient.defined() ? elements<T>(gradients_[i]) : nullptr;
    segments<T>()[i] = {{elements<T>(weights_[i]), member.count},
                        {values, gradient.defined() ? member.count : 0}};
  }
  if (core) core_->prepare(std::span<const Segment<T>>(segments<T>()));
}

template <class T>
bool Unit::step_as(const Rounding& rounding) {
  const std::span<const Segment<T>> all = segments<T>();
  const std::uint64_t skipped = core_->skipped_steps();
  if constexpr (std::is_same_v<T, BFloat16>) {
    core_->step(all, rounding);
  } else {
    core_->step(all);
  }
  if (core_->skipped_steps() != skipped) return false;
  memory_->store();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const at::Tensor& parameter = members_[i].parameter;
    if (!gradients_[i].defined()) continue;
    if (!weights_[i].is_same(parameter)) {
      parameter.copy_(weights_[i]);
    } else if (!parameter.is_inference()) {
      // As torch's in-place operations do: a backward pass that still needs the old values fails
      // instead of using the new ones.
      parameter.unsafeGetTensorImpl()->bump_version();
    }
  }
  return true;
}

void Unit::prepare(bool core) {
  switch (type_) {
    case at::kDouble:
      return prepare_as<double>(core);
    case at::kBFloat16:
      return prepare_as<BFloat16>(core);
    default:
      return prepare_as<float>(core);
  }
}

bool Unit::step(const Rounding& rounding) {
  switch (type_) {
    case at::kDouble:
      return step_as<double>(rounding);
    case at::kBFloat16:
      return step_as<BFloat16>(rounding);
    default:
      return step_as<float>(rounding);
  }
}

void Unit::release() noexcept {
  weights_.clear();
  gradients_.clear();
}

}  // namespace tandem::optim::detail
