// SPDX-License-Identifier: MIT
// Random numbers that are the same on every machine: a counter and a mixing function (SplitMix64),
// so that a place in a stream is a seed and a number, and nothing has to be saved to go on from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace tandem {

class Random {
 public:
  /// Streams of one seed do not overlap: what they are for gets a number each.
  Random(std::uint64_t seed, std::uint64_t stream)
      : state_(mix(mix(seed + kStep) ^ (stream * 0xD1342543DE82EF95ULL))) {}

  std::uint64_t bits() { return mix(state_ += kStep); }
  /// In (0, 1).
  double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }
  /// Below `count`, each equally likely.
  std::uint64_t below(std::uint64_t count) {
    const std::uint64_t unfair =
        -count % count;  // so many of the lowest values would be one too many
    while (true) {
      const Wide product = static_cast<Wide>(bits()) * count;
      if (static_cast<std::uint64_t>(product) >= unfair) {
        return static_cast<std::uint64_t>(product >> 64);
      }
    }
  }
  /// Standard normal, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// The numbers below `count` in random order (Fisher and Yates).
  std::vector<std::uint32_t> permutation(std::size_t count) {
    std::vector<std::uint32_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    return order;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace tandem
