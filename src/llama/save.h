// SPDX-License-Identifier: MIT
// Writing what training changed: the changed weights alone, or a whole model with them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "llama/checkpoint.h"

namespace tandem::llama {

/// Weights by our names, and their values, one weight after another.
struct Changes {
  std::vector<std::string> names;
  std::span<const float> values;
};

/// A safetensors file with the changed weights in float32, under the names of the checkpoint's own
/// file; Checkpoint::apply_changes() reads it. There whole or not at all. Throws CheckpointError,
/// and std::invalid_argument for changes that do not fit the checkpoint.
void save_changed(const std::filesystem::path& path, const Checkpoint& checkpoint,
                  const Changes& changes);

/// A folder as Hugging Face has them, with config.json and model.safetensors: all weights in their
/// stored types, changed ones rounded to them. Rows of wq and wk from llama2.c are put in the order
/// that Hugging Face has. Throws as above, and where a float16 cannot hold a changed value.
void save_merged(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                 const Changes& changes);

}  // namespace tandem::llama
