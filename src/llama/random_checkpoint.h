// SPDX-License-Identifier: MIT
// A checkpoint of any shape with random weights, to measure memory and speed with.
#pragma once

#include <cstdint>
#include <filesystem>

#include "llama/config.h"
#include "tensors/safetensors.h"

namespace tandem::llama {

inline constexpr std::uint64_t kUsualShard = std::uint64_t{2} << 30;

/// A folder as Hugging Face has them, in files of at most `shard_bytes` (or one tensor), written a
/// piece at a time. Matrices are normal with a deviation of 0.02, norms are 1. `type` is F32, F16
/// or BF16. Throws CheckpointError where the configuration is out of its limits or the disk does
/// not take it.
void write_random_checkpoint(const std::filesystem::path& folder, const Config& config,
                             tensors::Type type, std::uint64_t seed,
                             std::uint64_t shard_bytes = kUsualShard);

}  // namespace tandem::llama
