// SPDX-License-Identifier: MIT
// torch::optim::Optimizer::state(): its keys are texts in LibTorch 1 and pointers in LibTorch 2.
#pragma once

#include <ATen/core/Tensor.h>
#include <tandem/torch/state.h>
#include <torch/optim/optimizer.h>

#include <sstream>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace tandem::optim::detail {

using StateMap =
    std::remove_reference_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;
using StateKey = StateMap::key_type;

template <class Key = StateKey>
Key state_key(const at::Tensor& parameter) {
  void* const impl = parameter.unsafeGetTensorImpl();
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << impl;
    return text.str();
  } else {
    return impl;
  }
}

/// nullptr where a parameter has no state, or a state of another optimizer.
inline ParamState* find_state(const StateMap& states, const StateKey& key) {
  const auto found = states.find(key);
  if (found == states.end() || found->second == nullptr) return nullptr;
  torch::optim::OptimizerParamState& state = *found->second;
  return typeid(state) == typeid(ParamState) ? static_cast<ParamState*>(&state) : nullptr;
}

}  // namespace tandem::optim::detail
