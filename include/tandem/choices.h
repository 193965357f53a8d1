// SPDX-License-Identifier: MIT
// The enums among the options of the optimizers.
#pragma once

namespace tandem {

enum class OnNonFinite { raise, skip, ignore };

/// How Full-TO keeps its matrix. The iterates do not depend on it beyond rounding.
enum class Form {
  automatic,  ///< the cheaper one within the memory limit, and the other one when that changes
  dense,      ///< the d x d matrix
  span        ///< the history of residuals, from which the matrix's action follows; no d x d matrix
};

/// What the momentum buffer is: `ema`, the paper's b = momentum b + (1 - momentum) g from 0; or
/// `torch`, torch.optim.SGD's b = momentum b + g from g_1.
enum class MomentumForm { ema, torch };

/// How elementwise state is kept: as float (double for double weights), or as bfloat16, in half the
/// memory.
enum class StateType { full, bfloat16 };

/// How float results become bfloat16 state. To nearest, an average that changes by less than a 256th
/// of itself never changes: Adam's v stands still.
enum class StateRounding { stochastic, nearest };

}  // namespace tandem
