// SPDX-License-Identifier: MIT
#include "deep/llama_frozen.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "llama/layout.h"

namespace tandem::deep {
namespace {

/// Layers below the first trained weight.
std::size_t frozen_layers(const llama::Config& config, std::span<const std::size_t> trained) {
  std::size_t layers = config.layers;
  for (const std::size_t index : trained) {
    if (index == llama::kEmbeddingIndex) return 0;
    if (index < llama::norm_index(config)) {
      layers = std::min(layers, (index - llama::weight_index(0, llama::Part{})) / llama::kParts);
    }
  }
  return layers;
}

/// Tokens that the model reads: the last one is only predicted.
std::size_t length_of(const plugin::TokenSample& sample) { return sample.tokens.size() - 1; }

}  // namespace

LlamaFrozen::LlamaFrozen(const llama::Config& config, std::span<const std::size_t> trained,
                         std::span<const plugin::TokenSample> train,
                         std::span<const plugin::TokenSample> validation)
    : config_(config), layers_(frozen_layers(config, trained)) {
  if (layers_ == 0) return;
  std::size_t tokens = 0;
  for (const auto samples : {train, validation}) {
    for (const plugin::TokenSample& sample : samples) tokens += length_of(sample);
  }
  if (tokens > kFrozenBytes / sizeof(float) / config.dim) {
    layers_ = 0;
    return;
  }
  bytes_ = tokens * config.dim * sizeof(float);
}

at::Tensor LlamaFrozen::states(const LlamaWeights& weights,
                               std::span<const plugin::TokenSample* const> samples,
                               std::size_t length) {
  const at::NoGradGuard no_gradient;
  const auto rows = static_cast<std::int64_t>(length);
  at::Tensor all = at::zeros(
      {static_cast<std::int64_t>(samples.size()) * rows, static_cast<std::int64_t>(config_.dim)},
      at::kFloat);
  std::int64_t first = 0;
  for (const plugin::TokenSample* sample : samples) {
    const at::Tensor own = states_of(weights, *sample);
    all.narrow(0, first, own.size(0)).copy_(own);
    first += rows;
  }
  return all;
}

at::Tensor LlamaFrozen::states_of(const LlamaWeights& weights, const plugin::TokenSample& sample) {
  const std::scoped_lock lock(mutex_);
  const auto [place, is_new] = kept_.try_emplace(&sample);
  if (!is_new && place->second.defined()) return place->second;
  const auto length = static_cast<std::int64_t>(length_of(sample));
  at::Tensor tokens = at::empty({1, length}, at::kLong);
  std::copy(sample.tokens.begin(), sample.tokens.end() - 1, tokens.data_ptr<std::int64_t>());
  place->second = llama_layers(config_, weights, llama_embedded(weights, tokens), 1, 0, layers_);
  return place->second;
}

}  // namespace tandem::deep
