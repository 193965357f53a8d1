// SPDX-License-Identifier: MIT
// Timing for benchmarks: the best of several rounds, so that other work on the machine matters
// less.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace tandem::bench {

/// Seconds that one call of `body` takes.
template <class Body>
double seconds_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The least seconds of `rounds` calls.
template <class Body>
double best_seconds(int rounds, const Body& body) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; ++i) best = std::min(best, seconds_of(body));
  return best;
}

}  // namespace tandem::bench
