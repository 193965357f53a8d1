// SPDX-License-Identifier: MIT
// What Tandem throws besides std::invalid_argument (wrong sizes and options).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace tandem {

/// The gradient holds a NaN or an infinity. Weights and state are as they were before the step.
class NonFiniteGradient : public std::runtime_error {
 public:
  NonFiniteGradient(const std::string& message, std::size_t segment, std::size_t index)
      : std::runtime_error(message), segment_(segment), index_(index) {}

  /// Where the first such value is: the segment, and the index within it.
  std::size_t segment() const { return segment_; }
  std::size_t index() const { return index_; }

 private:
  std::size_t segment_;
  std::size_t index_;
};

/// A rate is infinite, NaN or too large for the type of the weights at this step: its schedule has
/// grown without end. Weights and state are as they were before the step.
class NonFiniteRate : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A saved state that cannot be loaded. The optimizer is as it was before the call.
class StateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A step would need more than `.memory_limit`. Weights and state are as they were before the step.
class MemoryLimitError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tandem
