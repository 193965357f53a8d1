// SPDX-License-Identifier: MIT
// The state by parameter name in safetensors files.
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "parts.h"
#include "tensors/safetensors.h"

namespace tandem::optim {
namespace {

constexpr std::array kTypes = {std::pair(tensors::Type::f32, at::kFloat),
                               std::pair(tensors::Type::f64, at::kDouble),
                               std::pair(tensors::Type::bf16, at::kBFloat16)};

/// A tensor of a file; its data may start at any address, so they are copied.
NamedState::Part part_of(const tensors::Tensor& tensor) {
  // Names of parameters have dots too, and nobody asks for owner and array apart.
  const std::size_t dot = tensor.name.rfind('.');
  NamedState::Part part{tensor.name.substr(0, dot), "", {}};
  if (dot != std::string::npos) part.array = tensor.name.substr(dot + 1);
  const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const auto& pair) { return pair.first == tensor.type; });
  if (known == kTypes.end()) {
    throw StateError(fmt::format("Invalid state: tensor '{}' is {}, expected F32, F64 or BF16",
                                 tensor.name, tensors::type_name(tensor.type)));
  }
  const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  part.tensor = at::empty(shape, at::TensorOptions().dtype(known->second));
  if (!tensor.bytes.empty()) {
    std::memcpy(part.tensor.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
  }
  return part;
}

}  // namespace

void Optimizer::save_state(const std::string& path) const {
  const NamedState state = named_state(Owners::names);
  std::vector<tensors::Tensor> tensors;
  for (const auto& [owner, array, tensor] : state.parts) {
    const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& pair) {
      return pair.second == tensor.scalar_type();
    });
    tensors.push_back({owner + "." + array,
                       type->first,
                       {tensor.sizes().begin(), tensor.sizes().end()},
                       {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  }
  tensors::write_safetensors(path, tensors, state.facts);
}

void Optimizer::load_state(const std::string& path) {
  try {
    const tensors::SafetensorsFile file(path);
    NamedState state;
    state.facts = file.metadata();
    for (const tensors::Tensor& tensor : file.tensors()) state.parts.push_back(part_of(tensor));
    load_named_state(state, Owners::names);
  } catch (const tensors::TensorFileError& error) {
    throw StateError(error.what());
  } catch (const StateError& error) {
    throw StateError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace tandem::optim
