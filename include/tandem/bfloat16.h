// SPDX-License-Identifier: MIT
// Weights and gradients stored as bfloat16: the upper half of a float.
#pragma once

#include <cstdint>

namespace tandem {

/// A number as torch and others store it. The state of an optimizer on such weights is float, and
/// so is all arithmetic.
struct BFloat16 {
  std::uint16_t bits = 0;
};

/// How float results become bfloat16. To nearest loses every update below half a unit in the last
/// place (0.2 % to 0.4 % of a weight), step after step; stochastic rounding keeps them on average.
struct Rounding {
  bool stochastic = false;
  /// The noise is a function of this, the step and the place, and of nothing else.
  std::uint64_t seed = 0;
};

}  // namespace tandem
