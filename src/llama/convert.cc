// SPDX-License-Identifier: MIT
#include "llama/convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace tandem::llama {
namespace {

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1F;
  const std::uint32_t fraction = bits & 0x3FF;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000) {
    half = 0x7E00 | (magnitude >> 13 & 0x1FF);  // a NaN
  } else if (magnitude >= 0x47800000) {
    half = 0x7C00;  // 65536 and more
  } else if (magnitude < 0x38800000) {
    // Below the smallest normal number: a multiple of 2^-24, to which the addition rounds.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    half = (magnitude - (112U << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::vector<float> to_floats(const tensors::Tensor& tensor) {
  const std::size_t size = type_size(tensor.type);
  std::vector<float> values(tensor.bytes.size() / size);
  if (tensor.type == tensors::Type::f32) {
    if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  const bool half = tensor.type == tensors::Type::f16;
  if (!half && tensor.type != tensors::Type::bf16) throw std::invalid_argument("no float type");
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i * size, size);
    values[i] = half ? half_to_float(bits) : bfloat16_to_float(bits);
  }
  return values;
}

std::vector<std::byte> from_floats(std::span<const float> values, tensors::Type type) {
  const std::size_t size = type_size(type);
  std::vector<std::byte> bytes(values.size() * size);
  if (type == tensors::Type::f32) {
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  const bool half = type == tensors::Type::f16;
  if (!half && type != tensors::Type::bf16) throw std::invalid_argument("no float type");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = half ? float_to_half(values[i]) : float_to_bfloat16(values[i]);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

}  // namespace tandem::llama
