// SPDX-License-Identifier: MIT
// How far estimators are from the full gradient, with and without A, as tables, a page and JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "paper/estimator_comparison.h"
#include "report/table.h"
#include "train/trainer.h"

namespace tandem::paper {

/// All seeds of one driver on a task.
struct DriverResult {
  train::Setting driver;
  std::vector<EstimatorComparison> comparisons;
  std::vector<AlphaProfile> profile;
};

struct EstimatorRun {
  std::string data;
  std::string model;
  double lambda = 0;
  std::string start;          // "normal" or "zeros"
  std::size_t dimension = 0;  // weights
  std::size_t steps = 0;      // of an epoch
  TrajectoryOptions options;
  std::size_t seeds = 0;
  EstimatorGrid grid;
  std::vector<std::string> left_out = {};  // rules that the task is too large for
  std::vector<DriverResult> drivers = {};
  double seconds = 0;
};

/// "nsl-kdd logistic, lambda = 0.023".
std::string task_title(const EstimatorRun& run);

/// A row a task, driver and rule: the best ratios over all epochs without and with A, and their
/// quotient with its interval.
report::Table estimator_table(const std::vector<EstimatorRun>& runs);
/// The quotients of each epoch, a column an epoch, of one task.
report::Table estimator_epochs(const EstimatorRun& run);
/// How many quotients over all epochs are below 1, above it, or neither, as their intervals say.
std::string estimator_summary(const std::vector<EstimatorRun>& runs);
/// What the columns mean, and what was run; paragraphs of one line each.
std::vector<std::string> estimator_notes(const std::vector<EstimatorRun>& runs);

/// All comparisons, and the best of each alpha, with every digit.
report::Table estimator_csv(const std::vector<EstimatorRun>& runs);
report::Table alpha_csv(const std::vector<EstimatorRun>& runs);
/// A line a comparison.
std::vector<nlohmann::ordered_json> estimator_events(const EstimatorRun& run);

struct EstimatorResults {
  std::string command;                                     // reproduces them
  std::string note;                                        // what a reader must know; may be empty
  std::vector<std::pair<std::string, std::string>> facts;  // machine, versions: name, value
  std::vector<EstimatorRun> runs;
  std::vector<std::pair<std::string, std::string>> missing;  // data set, why it is not there
};
/// A page of Markdown.
std::string estimator_page(const EstimatorResults& results);

}  // namespace tandem::paper
