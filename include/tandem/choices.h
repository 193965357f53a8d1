// SPDX-License-Identifier: MIT
// The enums among the options of the optimizers. names_of() lists the texts of an enum's values in
// its order; command lines, files and bindings all read and write these.
#pragma once

#include <array>

namespace tandem {

enum class OnNonFinite { raise, skip, ignore };
constexpr auto names_of(OnNonFinite /*type*/) { return std::array{"raise", "skip", "ignore"}; }

/// How Full-TO keeps its matrix. The iterates do not depend on it beyond rounding.
enum class Form {
  automatic,  ///< the cheaper one within the memory limit, and the other one when that changes
  dense,      ///< the d x d matrix
  span        ///< the history of residuals, from which the matrix's action follows; no d x d matrix
};
constexpr auto names_of(Form /*type*/) { return std::array{"automatic", "dense", "span"}; }

/// What the momentum buffer is: `ema`, the paper's b = momentum b + (1 - momentum) g from 0; or
/// `torch`, torch.optim.SGD's b = momentum b + g from g_1.
enum class MomentumForm { ema, torch };
constexpr auto names_of(MomentumForm /*type*/) { return std::array{"ema", "torch"}; }

/// How elementwise state is kept: as float (double for double weights), or as bfloat16, in half the
/// memory.
enum class StateType { full, bfloat16 };
constexpr auto names_of(StateType /*type*/) { return std::array{"full", "bfloat16"}; }

/// How float results become bfloat16 state. To nearest, an average that changes by less than a 256th
/// of itself never changes: Adam's v stands still.
enum class StateRounding { stochastic, nearest };
constexpr auto names_of(StateRounding /*type*/) { return std::array{"stochastic", "nearest"}; }

}  // namespace tandem
