// SPDX-License-Identifier: MIT
// config.json of a Llama: what is taken is within the limits, and is the same when it was written.
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz.h"
#include "llama/config_json.h"
#include "llama/error.h"
#include "llama/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tandem::llama;
  using tandem::fuzz::require;
  try {
    const Config config =
        parse_config(std::string_view(reinterpret_cast<const char*>(bytes), size), "fuzz");
    require(config.dim > 0 && config.dim <= kWidest);
    require(config.heads % config.kv_heads == 0 && config.head_dim % 2 == 0);
    require(config.layers > 0 && config.layers <= kMostLayers);
    require(config.heads * config.head_dim <= kWidest);
    const std::string text = config_text(config, tandem::tensors::Type::f32);
    require(config_text(parse_config(text, "again"), tandem::tensors::Type::f32) == text);
  } catch (const CheckpointError&) {
  }
  return 0;
}
