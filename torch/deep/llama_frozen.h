// SPDX-License-Identifier: MIT
// What the frozen layers at the bottom of a Llama make of each sample. It does not change while
// weights above them are trained, so that it is computed once and kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <mutex>
#include <span>
#include <unordered_map>

#include "deep/llama.h"
#include "plugin/plugin.h"

namespace tandem::deep {

/// States are kept up to this. A constant, and not a part of the memory that is free, since states of
/// single samples and of batches differ in their last bits: results must not depend on the machine.
inline constexpr std::size_t kFrozenBytes = std::size_t{1} << 30;

/// May be used by several threads.
class LlamaFrozen {
 public:
  /// `trained` by llama::layout(). What is passed by reference or span outlives this.
  LlamaFrozen(const llama::Config& config, std::span<const std::size_t> trained,
              std::span<const plugin::TokenSample> train,
              std::span<const plugin::TokenSample> validation);

  /// How many layers are passed over. 0 where the first one or the embedding is trained, or all
  /// samples together would take more than kFrozenBytes.
  std::size_t layers() const { return layers_; }
  /// Of the states of all samples; 0 where nothing is kept.
  std::size_t bytes() const { return bytes_; }

  /// What goes into layer layers(), without a graph: `length` rows for each sample, those of shorter
  /// ones filled up with zeros. Each sample goes through the frozen layers alone, so that its states
  /// do not depend on the others.
  at::Tensor states(const LlamaWeights& weights,
                    std::span<const plugin::TokenSample* const> samples, std::size_t length);

 private:
  at::Tensor states_of(const LlamaWeights& weights, const plugin::TokenSample& sample);

  const llama::Config& config_;
  std::size_t layers_ = 0;
  std::size_t bytes_ = 0;
  std::mutex mutex_;
  std::unordered_map<const plugin::TokenSample*, at::Tensor> kept_;
};

}  // namespace tandem::deep
