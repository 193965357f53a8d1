// SPDX-License-Identifier: MIT
// A study file: what is compared. Lists are grids. docs/studies.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "problems/loss.h"
#include "study/grid.h"
#include "train/trainer.h"

namespace tandem::study {

inline constexpr std::uint64_t kMostEpochs = 1'000'000;

struct TaskSpec {
  std::string data;
  std::map<std::string, std::string> data_options = {};
  double validation = 0;
  std::string model = "logistic";
  problems::Loss loss = problems::Loss::cross_entropy;
  double lambda = 0;
  std::size_t batch = 64;
  train::Init init = train::Init::normal;
  bool shuffle = true;
  train::Sampling sampling = train::Sampling::epochs;
};

struct OptimizerSpec {
  std::string label;  // unique: what tables say
  std::string method;
  bool baseline = false;
  /// Not empty: the label of an optimizer whose grid this one's is a part of. It has no runs of its
  /// own on the tuning seed; its best setting is measured like all others.
  std::string part_of = {};
  /// Shown apart from the comparison proper, and a family of its own in Holm's correction.
  bool ablation = false;
  Grid grid = {};
};

struct StudySpec {
  std::string name;
  std::size_t epochs = 20;
  std::uint64_t tune_seed = 0;
  std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5};
  /// After a part of the epochs only one in so many settings stays (successive halving); 0: all
  /// stay.
  std::size_t prune = 0;
  /// Measure the error of estimators on the seeds that are measured.
  bool diagnose = false;
  /// Train every setting on the measured seeds too, so that any choice can be made afterwards.
  bool measure_all = false;
  /// Compute F* of logistic tasks with lambda > 0.
  bool optimum = true;
  std::vector<TaskSpec> tasks = {};  // a task for each lambda
  std::vector<OptimizerSpec> optimizers = {};
};

/// Throws std::invalid_argument that names the file, the line, what was found and what was
/// expected; unknown keys come with the nearest known one.
StudySpec parse_study(std::string_view text, const std::string& file);
StudySpec read_study(const std::filesystem::path& file);

/// JSON with every value in a fixed order: studies with the same text are the same. A line for each
/// value, so that the store can name the one that differs.
std::string canonical_text(const StudySpec& study);

/// The optimizers of a study from its canonical text; none where it is not one.
std::vector<OptimizerSpec> optimizers_of(std::string_view canonical);

/// Whether a run with these options is in the grid.
bool in_grid(const Grid& grid, const OptionMap& options);

/// One name for a task, unique in a study: what tables and keys say.
std::string task_name(const TaskSpec& task);

}  // namespace tandem::study
