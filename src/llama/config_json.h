// SPDX-License-Identifier: MIT
// config.json of Hugging Face: the shape of a Llama, and what else it must say for us to run it.
#pragma once

#include <string>
#include <string_view>

#include "llama/config.h"
#include "tensors/safetensors.h"

namespace tandem::llama {

/// Throws CheckpointError for what is missing, of a wrong type or size, and for what the model here
/// cannot do: other architectures, scaled rotary embedding, biases, quantized weights. `where`
/// names the file in messages.
Config parse_config(std::string_view text, const std::string& where);

/// The inverse: a Llama that transformers loads. `type` is that of most weights.
std::string config_text(const Config& config, tensors::Type type);

}  // namespace tandem::llama
