// SPDX-License-Identifier: MIT
// The bytes of state that a rule will have with float weights, before any of it is allocated.
#pragma once

#include <cstddef>

#include "optimizers/recipe.h"

namespace tandem::detail {

/// Full-TO in its span form grows with every step; this is then what it starts with, 0.
std::size_t planned_state_bytes(const Recipe& recipe, std::size_t dimension);

}  // namespace tandem::detail
