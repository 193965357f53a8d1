// SPDX-License-Identifier: MIT
// How much memory the gradient of a micro-batch takes.
#pragma once

#include <cstddef>
#include <vector>

#include "llama/config.h"

namespace tandem::deep {

struct LlamaShape {
  std::size_t samples = 1;      // of a micro-batch
  std::size_t length = 1;       // tokens of each that the model reads
  std::size_t rows = 1;         // tokens of all that count in the loss
  std::size_t frozen = 0;       // layers that samples go through one at a time (llama_frozen.h)
  std::vector<bool> trained;    // by llama::layout()
  std::vector<bool> converted;  // those that are not stored as float32
};

/// Bytes of the most that is held at a time: activations that the way back needs, what a layer uses
/// while it is computed, converted pieces of weights, logits, and gradients of whole matrices
/// before they are added to the caller's.
std::size_t llama_workspace_bytes(const llama::Config& config, const LlamaShape& shape);

}  // namespace tandem::deep
