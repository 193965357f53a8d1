// SPDX-License-Identifier: MIT
// The list of a Llama's weights, in the order of the model: names, what Hugging Face calls them,
// and shapes. All in the header: the plug-in, which links no more, needs it too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "llama/config.h"

namespace tandem::llama {

/// The parts of a layer, in order; see config.h for their names.
enum class Part { attention_norm, wq, wk, wv, wo, ffn_norm, w1, w2, w3 };
inline constexpr std::size_t kParts = 9;

struct PartNames {
  const char* ours;
  const char* hugging_face;
};
inline constexpr std::array<PartNames, kParts> kPartNames{{
    {"attention_norm", "input_layernorm"},
    {"attention.wq", "self_attn.q_proj"},
    {"attention.wk", "self_attn.k_proj"},
    {"attention.wv", "self_attn.v_proj"},
    {"attention.wo", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"feed_forward.w1", "mlp.gate_proj"},
    {"feed_forward.w2", "mlp.down_proj"},
    {"feed_forward.w3", "mlp.up_proj"},
}};

struct WeightEntry {
  std::string name;
  std::string hugging_face;
  std::vector<std::uint64_t> shape;

  std::uint64_t elements() const {
    std::uint64_t product = 1;
    for (const std::uint64_t size : shape) product *= size;
    return product;
  }
};

inline std::vector<std::uint64_t> part_shape(const Config& config, Part part) {
  const std::size_t queries = config.heads * config.head_dim;
  const std::size_t keys = config.kv_heads * config.head_dim;
  switch (part) {
    case Part::attention_norm:
    case Part::ffn_norm:
      return {config.dim};
    case Part::wq:
      return {queries, config.dim};
    case Part::wk:
    case Part::wv:
      return {keys, config.dim};
    case Part::wo:
      return {config.dim, queries};
    case Part::w1:
    case Part::w3:
      return {config.hidden, config.dim};
    case Part::w2:
      return {config.dim, config.hidden};
  }
  return {};
}

/// Where weights stand in layout().
inline constexpr std::size_t kEmbeddingIndex = 0;
inline std::size_t weight_index(std::size_t layer, Part part) {
  return 1 + layer * kParts + static_cast<std::size_t>(part);
}
inline std::size_t norm_index(const Config& config) { return 1 + config.layers * kParts; }
/// That of the embedding where the output is tied to it.
inline std::size_t output_index(const Config& config) {
  return config.tied ? kEmbeddingIndex : norm_index(config) + 1;
}
inline std::size_t weight_count(const Config& config) {
  return norm_index(config) + (config.tied ? 1 : 2);
}

inline std::vector<WeightEntry> layout(const Config& config) {
  std::vector<WeightEntry> entries;
  entries.reserve(weight_count(config));
  entries.push_back(
      {"tok_embeddings", "model.embed_tokens.weight", {config.vocabulary, config.dim}});
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::string number = std::to_string(layer) + ".";
      entries.push_back({"layers." + number + kPartNames[part].ours,
                         "model.layers." + number + kPartNames[part].hugging_face + ".weight",
                         part_shape(config, static_cast<Part>(part))});
    }
  }
  entries.push_back({"norm", "model.norm.weight", {config.dim}});
  if (!config.tied) {
    entries.push_back({"output", "lm_head.weight", {config.vocabulary, config.dim}});
  }
  return entries;
}

}  // namespace tandem::llama
