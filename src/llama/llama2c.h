// SPDX-License-Identifier: MIT
// Checkpoints of llama2.c in their first layout: seven 32-bit numbers, then all weights as float32,
// one kind after another over all layers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "llama/config.h"
#include "tensors/safetensors.h"

namespace tandem::llama {

struct Llama2c {
  Config config;
  /// Views of the bytes, in the order of layout().
  std::vector<tensors::Tensor> weights;
};

/// Reads a whole file that is in memory; `where` names it in messages. Throws CheckpointError
/// unless its length is to the byte what its numbers say.
Llama2c parse_llama2c(std::span<const std::byte> bytes, const std::string& where);

}  // namespace tandem::llama
