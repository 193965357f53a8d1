// SPDX-License-Identifier: MIT
// How a study is cut into units of work. That depends on the study alone, so that any number of
// processes, on any machine, make the same units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"
#include "study/results.h"
#include "study/study_file.h"
#include "study/task_loader.h"
#include "train/trainer.h"

namespace tandem::study {

/// What is known of a task once its data were read.
struct PlannedTask {
  TaskSpec spec;
  std::string name;
  std::string description;
  std::size_t samples = 0;
  std::size_t dimension = 0;
  bool one_at_a_time = false;  // the problem has sessions: no populations
  bool has_optimum = false;    // F* is to be found
  std::string data_hash;
  std::vector<std::string> notes;  // what the recipe did
  /// Of one member over all epochs.
  std::size_t steps = 0;
  /// Floats that one member of each optimizer touches over all epochs: what work is measured in.
  std::vector<double> work;
};

struct PlannedOptimizer {
  std::vector<train::Setting> grid;
  /// Whose tuning runs decide: the optimizer itself, or the one whose grid this one's is a part of.
  std::size_t tuned_by = 0;
  /// On the tuning seed: none where its grid is a part of another's.
  std::size_t tuning_members = 0;
};

/// A part of one optimizer's grid that is trained as one population.
struct PlannedUnit {
  std::size_t task = 0;
  std::size_t optimizer = 0;
  std::size_t first = 0;  // settings of the grid
  std::size_t last = 0;
  std::uint64_t seed = 0;
};

struct StudyPlan {
  std::vector<PlannedTask> tasks;
  std::vector<PlannedOptimizer> optimizers;
  std::vector<PlannedUnit> tuning;     // on the tuning seed
  std::vector<PlannedUnit> measuring;  // of whole grids; else what tuning chooses is measured
  std::size_t members = 0;             // of all grids on all tasks
  /// That measure them, or the best of each grid. With lambda > 0 the settings that are best by
  /// the loss without it are measured too, where they are others; these do not count here.
  std::size_t runs = 0;
  std::size_t units = 0;       // of all kinds, when every grid has a setting that did not diverge
  std::size_t waves = 0;       // of the units that train grids
  std::size_t peak_bytes = 0;  // of the largest wave, beyond the data
  double work = 0;             // of all members and runs
};

/// On all measured seeds, of one optimizer's grid on one task.
std::size_t measured_runs(const StudySpec& study, const PlannedOptimizer& optimizer);

/// Reads the data of every task. `memory` is for a wave of members. Throws std::invalid_argument
/// and data::DataError.
StudyPlan plan_study(const StudySpec& study, TaskLoader& loader, std::size_t memory);

// Units as the store keeps them; `id` is the store's number of the task.

/// All that does not depend on what tuning chooses, without F*.
std::vector<store::Unit> population_units(const StudySpec& study, const StudyPlan& plan,
                                          const std::vector<std::int64_t>& task_ids);
/// Runs of one setting of the optimizer's grid on the seeds that are measured: of the one that is
/// best by this loss.
std::vector<store::Unit> measuring_units(const StudySpec& study, const StudyPlan& plan,
                                         std::size_t task, std::int64_t id, std::size_t optimizer,
                                         std::size_t setting, ReportLoss chosen_by);
store::Unit optimum_unit(const StudyPlan& plan, std::size_t task, std::int64_t id);

/// What a unit says is to be done.
struct UnitWork {
  std::size_t task = 0;
  std::size_t optimizer = 0;                  // not for F*
  std::vector<train::Setting> settings = {};  // of its grid
  std::vector<std::uint64_t> seeds = {};      // one after another
};

/// Throws store::StoreError that names study and unit where that is nothing of this study.
UnitWork work_of(const StudySpec& study, const StudyPlan& plan, std::size_t task,
                 const store::Unit& unit);

}  // namespace tandem::study
