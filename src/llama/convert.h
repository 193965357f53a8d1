// SPDX-License-Identifier: MIT
// Between the types that weights are stored in and float.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensors/safetensors.h"

namespace tandem::llama {

/// IEEE 754 binary16; exact.
float half_to_float(std::uint16_t bits);
/// To nearest, ties to even; what is too large becomes infinite, a NaN stays one.
std::uint16_t float_to_half(float value);

/// All elements of an F32, F16 or BF16 tensor; exact.
std::vector<float> to_floats(const tensors::Tensor& tensor);
/// As elements of that type; to nearest, ties to even.
std::vector<std::byte> from_floats(std::span<const float> values, tensors::Type type);

}  // namespace tandem::llama
