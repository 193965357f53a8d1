// SPDX-License-Identifier: MIT
// What a study gave, as its statistics and its report see it: runs, an optimizer at a time, a task
// at a time.
#pragma once

#include <tandem/registry.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace tandem::study {

// Members have initializers so that whoever makes one names only what it has.

/// What is reported as training loss, and what settings are chosen by.
enum class ReportLoss {
  total,  // what is minimised: the mean loss + lambda/2 |w|^2
  data,   // without lambda's part
};
/// "total" and "data", the default first.
const std::vector<std::string>& report_loss_names();
/// Throws std::invalid_argument for a name that is none of these.
ReportLoss parse_report_loss(const std::string& name);

/// One member on one seed.
struct Run {
  OptionMap options = {};  // every option, resolved
  std::uint64_t seed = 0;
  bool diverged = false;
  bool pruned = false;  // left the grid early, by successive halving
  std::size_t state_bytes = 0;
  std::vector<train::Point> points = {};  // the first is the start
};

struct OptimizerRuns {
  std::string label = {};  // unique within the study: what tables and legends say
  std::string method = {};
  bool baseline = false;
  bool ablation = false;
  std::map<std::string, std::vector<std::string>> grid = {};  // options with more than one value
  std::vector<Run> tuned = {};                                // the whole grid, on the tuning seed
  std::vector<Run> measured = {};                             // the best of it, a run a seed
  /// Measured runs of other settings: those that another loss would choose, or the whole grid.
  std::vector<Run> others = {};
};

struct TaskRuns {
  std::string name = {};  // unique within the study
  std::string data = {};
  std::string model = {};
  double lambda = 0;
  std::size_t batch = 0;
  std::size_t samples = 0;
  std::size_t dimension = 0;
  std::optional<double> optimum = {};  // F*, for convex tasks
  std::vector<OptimizerRuns> optimizers = {};
};

struct StudyRuns {
  std::string name = {};
  bool pruned = false;    // the grid was pruned by successive halving
  bool complete = false;  // nothing is left to do
  ReportLoss report_loss = ReportLoss::total;
  std::size_t epochs = 0;
  std::uint64_t tune_seed = 0;
  std::vector<std::uint64_t> seeds = {};
  std::string text = {};     // the study file, in its canonical form
  std::string command = {};  // reproduces it
  std::string version = {};
  std::string target = {};  // of the CPU
  std::string machine = {};
  std::int64_t created = 0;  // seconds since 1970
  std::vector<TaskRuns> tasks = {};
};

/// Puts the loss without lambda's part in the place of train_loss. False, and nothing is changed,
/// where a run does not have it: older versions did not keep it.
bool report_data_loss(std::vector<Run>& runs);

}  // namespace tandem::study
