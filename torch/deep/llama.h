// SPDX-License-Identifier: MIT
// A Llama as functions of weights that somebody else owns. Frozen weights stay in the type that
// they are stored in, and are converted a piece at a time where they are used.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "llama/config.h"
#include "llama/layout.h"
#include "tensors/safetensors.h"

namespace tandem::deep {

/// All weights in the order of llama::layout(): float32, float16 or bfloat16. Those that are
/// trained are float32 and require a gradient.
using LlamaWeights = std::vector<at::Tensor>;

/// A tensor that looks at the stored elements; a copy where they are not aligned to their type.
at::Tensor stored_tensor(const tensors::Tensor& tensor);

/// Keys and values of tokens that the model has seen, for one sequence.
struct KeyValueCache {
  KeyValueCache(const llama::Config& config, std::size_t capacity);

  std::vector<at::Tensor> keys;  // a layer each: kv_heads x capacity x head_dim
  std::vector<at::Tensor> values;
  std::int64_t length = 0;
};

/// What goes into the first layer: a row of `dim` for each token. `tokens` is batch x length, int64.
at::Tensor llama_embedded(const LlamaWeights& weights, const at::Tensor& tokens);

/// What goes into layer `last` (the last norm, if that is their number), from what goes into layer
/// `first`: rows of `batch` sequences of one length. With a cache it is one sequence that goes on.
at::Tensor llama_layers(const llama::Config& config, const LlamaWeights& weights, at::Tensor states,
                        std::size_t batch, std::size_t first, std::size_t last,
                        KeyValueCache* cache = nullptr);

/// What goes into the last norm. Each row of `tokens` is a sequence of its own.
at::Tensor llama_states(const llama::Config& config, const LlamaWeights& weights,
                        const at::Tensor& tokens, KeyValueCache* cache = nullptr);

/// The last norm.
at::Tensor llama_last_norm(const llama::Config& config, const LlamaWeights& weights,
                           const at::Tensor& states);

/// Logits of every token; rows as they come out of the last norm. Without a gradient.
at::Tensor llama_logits(const llama::Config& config, const LlamaWeights& weights,
                        const at::Tensor& rows);

/// Cross entropy of rows out of the last norm.
struct LlamaLoss {
  std::vector<double> losses;  // a row each
  at::Tensor row_gradients;    // undefined where it was not asked for
};

/// `targets` has a token a row. With `factors`, one a row, row_gradients is that of the sum of
/// factors times losses, and where `output_gradient` is defined, that of the output's weight is
/// added to it. Rows are taken a piece at a time: memory does not grow with their number.
LlamaLoss llama_loss(const llama::Config& config, const LlamaWeights& weights,
                     const at::Tensor& rows, std::span<const std::int64_t> targets,
                     std::span<const float> factors = {}, const at::Tensor& output_gradient = {});

/// Pieces that bound the memory of conversions, of logits, and of scores where there is no graph. A
/// thread keeps one of the first two, and two of the last.
inline constexpr std::size_t kConvertedBytes = std::size_t{8} << 20;
inline constexpr std::size_t kLogitBytes = std::size_t{32} << 20;
inline constexpr std::size_t kScoreBytes = std::size_t{4} << 20;

}  // namespace tandem::deep
