// SPDX-License-Identifier: MIT
// Timing for benchmarks: the best of several rounds, so that other work on the machine matters
// less.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

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

/// Seconds of the rounds of something that is measured in turn with others.
class Rounds {
 public:
  template <class Body>
  void time(const Body& body) {
    add(seconds_of(body));
  }
  void add(double seconds) { seconds_.push_back(seconds); }

  double best() const { return *std::min_element(seconds_.begin(), seconds_.end()); }
  /// How many times longer the other took, as the median of the rounds has it.
  double median_gain_on(const Rounds& other) const {
    std::vector<double> gains(seconds_.size());
    for (std::size_t i = 0; i < gains.size(); ++i) gains[i] = other.seconds_[i] / seconds_[i];
    std::sort(gains.begin(), gains.end());
    return gains[gains.size() / 2];
  }

 private:
  std::vector<double> seconds_;
};

}  // namespace tandem::bench
