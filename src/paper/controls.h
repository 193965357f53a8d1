// SPDX-License-Identifier: MIT
// What the paper's comparison leaves open: the same runs against Adam with wider rates, against
// TO's own grid without learning (alpha = 0), and at equal numbers of settings tried.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/comparison.h"
#include "study/results.h"

namespace tandem::paper {

// Labels of the study files in studies/paper.
inline constexpr const char* kWideAdam = "adam, TO's rates too";
inline constexpr const char* kNoLearning = "diag-to, alpha = 0";  // of Full-TO and RO-TO as well
inline constexpr const char* kAdamNoLearning = "adam-to, alpha = 0";
// A form with alpha > 0 is a part of its grid with this behind its name, or the form itself where
// alpha = 0 has a grid of its own (deep models) and where its grid has no alpha = 0 (Full-TO).
inline constexpr const char* kLearning = ", alpha > 0";

/// Rows of the optimizers named, on every task that has them, against another baseline than the
/// study's; p_holm over these rows.
std::vector<study::Row> against(const study::StudyRuns& study, const std::string& baseline,
                                const std::vector<std::string>& optimizers);

/// All of Full-TO, Diag-TO and RO-TO against Adam with wider rates, momentum beside them.
std::vector<study::Row> against_wide_adam(const study::StudyRuns& study);
/// Forms of TO that learn (alpha > 0) against those that do not.
std::vector<study::Row> against_no_learning(const study::StudyRuns& study);

/// Rows of several studies as one table: p_holm over all of them.
std::vector<study::Row> rows_of(
    const std::vector<study::StudyRuns>& studies,
    const std::function<std::vector<study::Row>(const study::StudyRuns&)>& make);

/// Rho on the tuning seed had training ended after so many epochs: the paper does not say how many
/// it trained. The best setting of each grid by then, against the baseline's.
struct RhoByEpochs {
  std::string task;
  std::string optimizer;
  std::vector<std::size_t> epochs;
  std::vector<std::optional<double>> rho;
};
/// Without ablations, and without what a pruned grid cannot tell.
std::vector<RhoByEpochs> rho_by_epochs(const study::StudyRuns& study);

/// What one task says. "Beats" is the mark '+', the paper's test over seeds, with a rho of at least
/// 1e-4.
struct Verdict {
  std::string task;
  bool to_beats_adam = false;        // one of Full-TO, Diag-TO, RO-TO, as the paper compares
  bool momentum_beats_adam = false;  // likewise
  bool has_wide_adam = false;        // there is an Adam that may have TO's rates too:
  bool to_beats_wide_adam = false;
  /// And the same form wins in the median when as many of its settings are tried as of Adam's. Not
  /// asked of Full-TO where its few settings were chosen by hand.
  bool to_beats_wide_adam_at_equal_budget = false;
  bool momentum_beats_wide_adam_at_equal_budget = false;
  /// Diag-TO or RO-TO with alpha > 0 beats alpha = 0, at an equal number of settings too, on five
  /// seeds or more and with a 95 % interval of rho above 0.
  bool learning_helps = false;
};
std::vector<Verdict> verdicts(const std::vector<study::StudyRuns>& studies);

/// The counts over tasks, in sentences.
std::string verdict_text(const std::vector<Verdict>& verdicts);

}  // namespace tandem::paper
