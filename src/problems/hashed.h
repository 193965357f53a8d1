// SPDX-License-Identifier: MIT
// Random numbers as a function of a seed and two counters: no generator whose position would have
// to be carried along, so the noise of step t is the same whoever asks for it, and when.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace tandem::problems {

/// splitmix64's finaliser (Steele, Lea and Flood 2014): 64 well-mixed bits.
inline std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Where the numbers of (seed, stream) start; add an index and mix for the index-th of them.
inline std::uint64_t stream_key(std::uint64_t seed, std::uint64_t stream) {
  return mixed_bits(mixed_bits(seed) + stream);
}

/// Uniform in [-1, 1): the index-th number of the stream.
inline double hashed_uniform(std::uint64_t key, std::uint64_t index) {
  return static_cast<double>(mixed_bits(key + index) >> 11) * 0x1p-52 - 1.0;
}

/// Standard normal, by Box and Muller.
inline double hashed_normal(std::uint64_t key, std::uint64_t index) {
  const double u = (static_cast<double>(mixed_bits(key + 2 * index) >> 11) + 1.0) * 0x1p-53;
  const double v = static_cast<double>(mixed_bits(key + 2 * index + 1) >> 11) * 0x1p-53;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace tandem::problems
