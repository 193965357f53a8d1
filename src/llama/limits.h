// SPDX-License-Identifier: MIT
// What a configuration may say: within these limits no product of sizes overflows.
#pragma once

#include <cstddef>
#include <string_view>

#include "llama/config.h"

namespace tandem::llama {

/// Several times what the largest models have. Elements of a matrix stay below 2^45, and bytes of
/// a checkpoint below 2^63.
inline constexpr std::size_t kWidest = std::size_t{1} << 22;  // dim, hidden, vocabulary, heads
inline constexpr std::size_t kMostLayers = std::size_t{1} << 13;
inline constexpr std::size_t kLongestSequence = std::size_t{1} << 31;

/// What a file calls the fields, for messages.
struct FieldNames {
  std::string_view dim;
  std::string_view hidden;
  std::string_view layers;
  std::string_view heads;
  std::string_view kv_heads;
  std::string_view head_dim;
  std::string_view vocabulary;
  std::string_view sequence;
};

/// Throws CheckpointError for sizes out of their limits, and for those that do not fit each other.
void check_config(const Config& config, const FieldNames& names, std::string_view where);

}  // namespace tandem::llama
