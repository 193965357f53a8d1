// SPDX-License-Identifier: MIT
// The state of a unit as bytes, and its arrays as tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <string>
#include <type_traits>

#include "units.h"

namespace tandem::optim::detail {

std::string saved(const tandem::Optimizer& optimizer);
/// Throws StateError that begins with the label.
void load_from(tandem::Optimizer& optimizer, const std::string& bytes, const std::string& label);

template <class T>
constexpr at::ScalarType tensor_type() {
  if constexpr (std::is_same_v<T, BFloat16>) return at::kBFloat16;
  return std::is_same_v<T, float> ? at::kFloat : at::kDouble;
}

/// Part of a flat array of the state in the parameter's shape: the same memory.
template <class T>
at::Tensor as_parameter(T* values, const Member& member) {
  return at::from_blob(const_cast<std::remove_const_t<T>*>(values), member.parameter.sizes(),
                       member.strides,
                       at::TensorOptions().dtype(tensor_type<std::remove_const_t<T>>()));
}

/// Calls take(member, first element) for the members, which lie one after the other.
template <class Take>
void for_members(const Unit& unit, const Take& take) {
  std::size_t offset = 0;
  for (const Member& member : unit.members()) {
    take(member, offset);
    offset += member.count;
  }
}

}  // namespace tandem::optim::detail
