// SPDX-License-Identifier: MIT
#include "llama/limits.h"

#include <fmt/format.h>

#include "llama/error.h"

namespace tandem::llama {

void check_config(const Config& config, const FieldNames& names, std::string_view where) {
  const auto within = [&](std::string_view name, std::size_t value, std::size_t most) {
    if (value < 1 || value > most) {
      fail<CheckpointError>(where, name, fmt::format("{}", value),
                            fmt::format("a number from 1 to {}", most));
    }
  };
  within(names.dim, config.dim, kWidest);
  within(names.hidden, config.hidden, kWidest);
  within(names.layers, config.layers, kMostLayers);
  within(names.heads, config.heads, kWidest);
  within(names.kv_heads, config.kv_heads, kWidest);
  within(names.head_dim, config.head_dim, kWidest);
  within(names.vocabulary, config.vocabulary, kWidest);
  within(names.sequence, config.sequence, kLongestSequence);
  if (config.head_dim % 2 != 0) {
    fail<CheckpointError>(where, names.head_dim, fmt::format("{}", config.head_dim),
                          "an even number: rotary embedding turns pairs");
  }
  if (config.heads % config.kv_heads != 0) {
    fail<CheckpointError>(where, names.kv_heads, fmt::format("{}", config.kv_heads),
                          fmt::format("a divisor of the {} heads", config.heads));
  }
  within(fmt::format("{} x {}", names.heads, names.head_dim), config.heads * config.head_dim,
         kWidest);
}

}  // namespace tandem::llama
