// SPDX-License-Identifier: MIT
// The state by parameter name in safetensors files.
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstring>

#include "parts.h"
#include "tensors/safetensors.h"

namespace tandem::optim {
namespace {

/// A tensor of a file; its data may start at any address, so they are copied.
NamedState::Part part_of(const tensors::Tensor& tensor) {
  // Names of parameters have dots too, and nobody asks for owner and array apart.
  const std::size_t dot = tensor.name.rfind('.');
  NamedState::Part part{tensor.name.substr(0, dot), "", {}};
  if (dot != std::string::npos) part.array = tensor.name.substr(dot + 1);
  if (tensor.type != tensors::Type::f32 && tensor.type != tensors::Type::f64) {
    throw StateError(fmt::format("Invalid state: tensor '{}' is {}, expected F32 or F64",
                                 tensor.name, tensors::type_name(tensor.type)));
  }
  const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  const auto type = tensor.type == tensors::Type::f64 ? at::kDouble : at::kFloat;
  part.tensor = at::empty(shape, at::TensorOptions().dtype(type));
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
    tensors.push_back(
        {owner + "." + array,
         tensor.scalar_type() == at::kDouble ? tensors::Type::f64 : tensors::Type::f32,
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
