// SPDX-License-Identifier: MIT
// Seconds of a clock that only goes forward.
#pragma once

#include <chrono>

namespace tandem {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Adds the time that it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += seconds_now() - began_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  double began_ = seconds_now();
};

}  // namespace tandem
