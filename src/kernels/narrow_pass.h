// SPDX-License-Identifier: MIT
// The fused pass of elementwise rules on state that is kept in bfloat16: widened when it is read,
// computed with in float, rounded when it is written. Weights and gradient are float, or blocks of
// bfloat16 that the caller has widened.
#pragma once

#include <tandem/bfloat16.h>

#include <cstddef>
#include <cstdint>

#include "kernels/pass.h"

namespace tandem::kernels {

/// Where such a pass reads and writes; what a stage does not use is null.
struct NarrowStreams {
  float* weights = nullptr;
  const float* gradient = nullptr;
  BFloat16* first = nullptr;
  BFloat16* second = nullptr;
  BFloat16* moment = nullptr;
  float* estimate = nullptr;  // where G goes, if anybody wants it
};

/// How state is rounded. To nearest, an average that changes by less than a 256th of itself never
/// changes: Adam's v stands still.
struct StateRounding {
  bool stochastic = true;
  /// Of the seed and the step. Noise is a function of the key, the array (by its place among those
  /// that the stages use, in the order of NarrowStreams) and the element's number, of nothing else.
  std::uint64_t key = 0;
  std::uint64_t first_element = 0;  // the number of the first element, among all weights
};

/// The state that comes out is rounded; the step itself is made with the values before rounding.
/// As with Pass: at most kBlock elements at a time where sums are taken, and elementwise results do
/// not depend on how a range is cut.
using NarrowPass = void (*)(const NarrowStreams&, const PassScalars<float>&, const StateRounding&,
                            std::size_t count, PassSums* sums);

/// The pass of two stages for this CPU; null for estimators that are not elementwise (rank_one,
/// given).
NarrowPass narrow_pass(EstimatorStage estimator, ScalingStage scaling);

}  // namespace tandem::kernels
