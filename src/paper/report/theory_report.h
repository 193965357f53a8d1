// SPDX-License-Identifier: MIT
// What experiments on the theorems say: constants, conditions, slopes, and what the controls show.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paper/theory.h"
#include "paper/theory_experiment.h"
#include "report/figure.h"
#include "report/html.h"
#include "report/table.h"

namespace tandem::paper {

/// An experiment, and what is told of it beside its numbers.
struct TheoryRun {
  std::string name;   // of its files: "certified"
  std::string title;  // "Milder rates on NSL-KDD"
  std::string text;   // the task and how it was run
  std::string smoothness = "of the gradient on every batch";
  theory::Experiment experiment = {};
  double seconds = 0;
};

/// What is known of the problem, the rates, and the bounds that follow from both.
report::Table constants_table(const theory::Facts& facts, const theory::Rates& rates,
                              const std::string& smoothness);
/// Every condition of the theorem with both sides.
report::Table conditions_table(const theory::Facts& facts, const theory::Rates& rates);
/// "Theorem 1 holds." or the conditions that fail.
std::string verdict(const theory::Facts& facts, const theory::Rates& rates);
/// A row a method: slopes with intervals, errors at the end, certified or not.
report::Table slopes_table(const theory::Experiment& experiment);
/// What Theorem 2 speaks of, for those it is about: the least errors up to T, those times
/// log_of_steps, and what the theorem bounds the products by.
report::Table least_table(const theory::Experiment& experiment);
/// Why each method is certified or is not, a line a reason.
std::string reasons(const theory::Experiment& experiment);

/// Full-TO against its controls, in numbers.
struct Controls {
  // The largest difference of its curves from those of alpha = 0, as a part of their height.
  double weights_difference = 0;
  double estimate_difference = 0;
  // How many times its errors those of momentum with a constant beta are at the end.
  double weights_ratio = 0;
  double estimate_ratio = 0;
};
/// Throws std::invalid_argument where one of theory::methods() is missing.
Controls compare_controls(const theory::Experiment& experiment);
/// In sentences that follow from the numbers.
std::string what_controls_show(const theory::Experiment& experiment);

/// Both errors against t + mu, with the theorem's bounds where it gives any: of the errors
/// themselves, or of the least so far.
std::vector<report::Figure> theory_figures(const TheoryRun& run);
/// All that figures are drawn from: experiment, method, step, both errors, both bounds.
report::Table theory_curves(const std::vector<TheoryRun>& runs);
report::Section theory_section(const TheoryRun& run);

/// All experiments with what is to be said of them.
struct TheoryResults {
  std::string command;                                     // reproduces them
  std::vector<std::pair<std::string, std::string>> facts;  // machine, versions: name, value
  std::vector<TheoryRun> runs;
  std::string missing = {};  // why there is no run on NSL-KDD; empty where there is one
};
/// theory.md, theory.csv and, where gnuplot is there, figures. Returns their number; none without
/// gnuplot.
std::optional<std::size_t> write_theory(const std::filesystem::path& folder,
                                        const TheoryResults& results);

}  // namespace tandem::paper
