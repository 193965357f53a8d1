// SPDX-License-Identifier: MIT
// How a population is split into waves that keep memory under a budget. What a member computes does
// not depend on it.
#pragma once

#include <tandem/problem.h>

#include <cstddef>
#include <vector>

#include "train/trainer.h"

namespace tandem::train {

struct Plan {
  std::vector<std::vector<std::size_t>> waves;  // ids of settings
  std::size_t peak_bytes = 0;                   // of the largest wave, beyond the data
};

/// Bytes that a member holds: weights, state of optimizer and source.
std::size_t member_bytes(const Problem& problem, const Setting& setting);

/// Waves of members in the order of their ids. Throws std::invalid_argument where one member alone
/// is over the budget.
Plan make_plan(const Problem& problem, const std::vector<Setting>& settings, std::size_t budget);

}  // namespace tandem::train
