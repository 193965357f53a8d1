// SPDX-License-Identifier: MIT
// From the runs of a study to what it concludes: a row for each task and optimizer, against the
// baseline of its task. docs/statistics.md says what the figures mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/results.h"
#include "study/statistics.h"
#include "study/study_file.h"

namespace tandem::study {

/// One number a seed, in the order of the study's seeds; none where there is no such run or it
/// diverged.
using PerSeed = std::vector<std::optional<double>>;

/// Figures that cannot be had are none. Those of a study that is not complete are preliminary.
struct Row {
  std::string study;
  std::string data;
  std::string model;
  double lambda = 0;
  std::string optimizer;  // its label
  OptionMap options;      // of the chosen setting; empty where none was left to choose
  /// Options whose chosen value is the least or greatest of a grid of two or more numbers, so that
  /// a better one may lie beyond. Ends that are bounds of what can be are not named: a least value
  /// of 0, and decay = 1, which is no decay.
  std::vector<std::string> edge;
  /// Mean over seeds of (baseline's least loss - least loss) / baseline's least loss. None for the
  /// baseline itself, and where it or this optimizer diverged on a measured seed.
  std::optional<double> rho;
  /// '+', '~' or '-' by s; '-' too where this optimizer diverged, on a measured seed or in its
  /// whole grid, and the baseline did not.
  std::optional<char> mark;
  std::optional<double> s;                        // as in Summary, of rho
  std::optional<double> p;                        // as in Summary, of rho
  std::optional<std::array<double, 2>> interval;  // of rho, 95 %
  PerSeed min_loss;
  PerSeed gap;                                        // min_loss - F*; all none without an optimum
  std::size_t diverged = 0;                           // members of the grid, on the tuning seed
  std::size_t members = 0;                            // of the grid
  std::optional<std::uint64_t> gradient_evaluations;  // of a measured run
  std::optional<double> seconds;                      // of a measured run, mean
  std::optional<std::size_t> state_bytes;

  std::string task;  // the name of its task
  std::string method;
  bool baseline = false;
  bool ablation = false;  // of a family apart
  bool pruned = false;    // the grid was pruned by successive halving
  std::vector<std::uint64_t> seeds;
  PerSeed rho_seeds;
  std::optional<double> p_holm;  // p adjusted for the other rows of its family
  std::size_t measured = 0;      // runs of the chosen setting
  std::size_t measured_diverged = 0;
  /// Rho when both runs of a seed may spend only what the cheaper of them spent.
  std::optional<double> rho_evaluations;
  std::optional<double> rho_seconds;
  /// On the tuning seed alone: the chosen setting's least loss, and rho of the two best settings.
  std::optional<double> tuned_loss;
  std::optional<double> rho_tuned;
  /// Rho of the median best of `budget` settings of each grid, which is one number for a table.
  std::optional<double> rho_budget;
  std::size_t budget = 0;
  std::vector<BestOf> best_of;  // the curve behind it; empty for a pruned grid
};

/// Whether it diverged in any epoch, or has a loss that is not finite.
bool failed(const Run& run);

/// The least training loss over the epochs, the start not among them; none for a failed run.
std::optional<double> min_loss(const Run& run);

/// The setting that tuning picks: the least min_loss among those that neither failed nor were
/// pruned, the first of them if several have it; null if there is none.
const Run* best_of_grid(std::span<const Run> tuned);
const Run* best_of_grid(const OptimizerRuns& runs);

/// How many settings of each grid are compared: as many as the smallest grid has. Grids of less than
/// half of the baseline's settings do not count, so that one of four does not decide for all.
std::size_t common_budget(std::span<const OptimizerRuns* const> optimizers,
                          const OptimizerRuns& baseline);

/// One row, without p_holm. A null baseline leaves out all that is relative to it. `budget` settings
/// are compared, fewer where one of the grids has fewer.
Row compare(const StudyRuns& study, const TaskRuns& task, const OptimizerRuns& runs,
            const OptimizerRuns* baseline,
            std::size_t budget = std::numeric_limits<std::size_t>::max());

/// All rows, with p_holm over the study's comparison, and over its ablations as another family. Throws std::invalid_argument for a task that has two
/// baselines.
std::vector<Row> compare(const StudyRuns& study);

/// Fills p_holm over these rows: those of ablations are a family of their own.
void adjust(std::span<Row> rows);

/// The runs whose options are in the part's grid, under its label. Measured runs are among them
/// where the best of the whole grid lies in the part.
OptimizerRuns restricted(const OptimizerRuns& runs, const OptimizerSpec& part);

/// The keys of `tandem report --json` in the order of the struct; what is none or not finite is
/// null.
nlohmann::ordered_json to_json(const Row& row);

}  // namespace tandem::study
