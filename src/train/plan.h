// SPDX-License-Identifier: MIT
// How a population is split into waves that keep memory under a budget. What a member computes does
// not depend on it.
#pragma once

#include <tandem/problem.h>

#include <cstddef>
#include <limits>
#include <vector>

#include "train/trainer.h"

namespace tandem::train {

struct Plan {
  std::vector<std::vector<std::size_t>> waves;  // ids of settings
  std::size_t peak_bytes = 0;                   // of the largest wave, beyond the data
};

/// As many steps as there can be: where a plan does not know how long a run is.
inline constexpr std::size_t kAnySteps = std::numeric_limits<std::size_t>::max();

/// The steps of a whole run.
std::size_t total_steps(const Problem& problem, const TrainOptions& options);

/// The most bytes that a member holds in a run of so many steps (Full-TO's history grows with
/// them): weights, state of optimizer and source.
std::size_t member_bytes(const Problem& problem, const Setting& setting,
                         std::size_t steps = kAnySteps);

/// Waves of members in the order of their ids. Throws std::invalid_argument where one member alone
/// is over the budget.
Plan make_plan(const Problem& problem, const std::vector<Setting>& settings, std::size_t budget,
               std::size_t steps = kAnySteps);

}  // namespace tandem::train
