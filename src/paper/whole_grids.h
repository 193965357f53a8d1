// SPDX-License-Identifier: MIT
// Grids that were trained on all seeds, as tables of least losses: what the search for a protocol
// and its controls choose from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "study/results.h"

namespace tandem::paper {

using Wanted = std::function<bool(const study::Run&)>;
bool any_run(const study::Run& run);

/// A grid's runs: a row a seed, a column a setting; null where there is no such run.
using Grid = std::vector<std::vector<const study::Run*>>;
/// The columns are the wanted settings of the grid.
Grid grid_of(const study::OptimizerRuns& runs, const std::vector<std::uint64_t>& seeds,
             const Wanted& wanted = any_run);

/// The same with the least loss of each run by the end of an epoch; NaN where it ended before.
using Losses = std::vector<std::vector<double>>;
Losses losses_of(const Grid& grid, study::ReportLoss report, std::size_t epochs);

/// The column of the least loss; none where all are NaN.
std::optional<std::size_t> best_of(const std::vector<double>& losses);

/// The tuning seed and those that are measured.
std::vector<std::uint64_t> seeds_of(const study::StudyRuns& runs);

/// Null where the task has no such optimizer.
const study::OptimizerRuns* find(const study::TaskRuns& task, const std::string& label);

}  // namespace tandem::paper
