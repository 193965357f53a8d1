// SPDX-License-Identifier: MIT
// How hashes of neighbouring blocks become one.
#pragma once

#include <cstdint>

namespace tandem::kernels {

/// Order counts. The multiplier is 2^64 over the golden ratio.
constexpr std::uint64_t combine_hashes(std::uint64_t hash, std::uint64_t next) {
  hash = (hash ^ next) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

}  // namespace tandem::kernels
