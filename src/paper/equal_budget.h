// SPDX-License-Identifier: MIT
// What is left of a protocol's differences when both sides may try equally many settings, on grids
// that were trained on all seeds: one seed chooses, another one scores.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "paper/protocol.h"

namespace tandem::paper {

/// One optimizer against another on one task.
struct BudgetRow {
  double lambda = 0;
  std::string optimizer = {};
  std::string against = {};
  /// Of each grid: as many as the smaller one has.
  std::size_t settings = 0;
  /// Each seed in turn chooses on either side and each other seed scores: a rho for each pair, of the
  /// medians over all draws of `settings` settings.
  std::vector<double> rhos = {};
  std::size_t diverged = 0;          // pairs without a rho
  std::optional<double> rho = {};    // the mean of `rhos`; none where a pair has none
  std::optional<double> whole = {};  // the same with the whole grids
};

/// Diag-TO, RO-TO and momentum against Adam with TO's rates too, and what learns (alpha > 0) against
/// the same with alpha = 0, on every task of the protocol. Without rows where the study has no such
/// Adam, or no alpha = 0.
std::vector<BudgetRow> equal_budgets(const study::StudySpec& spec, const study::StudyRuns& runs,
                                     const Protocol& protocol);

}  // namespace tandem::paper
