// SPDX-License-Identifier: MIT
// Runs a study: every optimizer's grid on the tuning seed, then the best setting of each on the
// other seeds. Work is cut into units that are kept in the store when they are whole; what a unit
// gives depends on the study alone, so that any number of processes, killed as often as you like,
// end with the same rows.
#pragma once

#include <tandem/executor.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "store/store.h"
#include "study/results.h"
#include "study/study_file.h"

namespace tandem::study {

struct RunOptions {
  std::filesystem::path data_dir = {};
  std::size_t memory = 0;  // bytes for a wave of members; 0: three quarters of what is free
  std::string command = {};
  /// Data sets that are in memory already, by the name that tasks have for them; a recipe's name is
  /// hidden by one of these. They are as they are: a task's own `validation` and options of data do
  /// not count.
  std::map<std::string, std::shared_ptr<const data::Task>> data = {};
  std::shared_ptr<Executor> executor = {};  // null: default_executor()
};

/// What is known of a task once its data were read.
struct PlannedTask {
  TaskSpec spec;
  std::string description;
  std::size_t samples = 0;
  std::size_t dimension = 0;
  bool one_at_a_time = false;  // the problem has sessions: no populations
  std::string data_hash;
  std::vector<std::string> notes;  // what the recipe did
};

/// A part of one optimizer's grid that is trained as one population.
struct PlannedUnit {
  std::size_t task = 0;
  std::size_t optimizer = 0;
  std::size_t first = 0;  // settings of the grid
  std::size_t last = 0;
};

struct StudyPlan {
  std::vector<PlannedTask> tasks;
  std::vector<PlannedUnit> tuning;
  std::size_t members = 0;     // of all grids on all tasks
  std::size_t runs = 0;        // that measure the best of them
  std::size_t units = 0;       // of both, when every grid has a setting that did not diverge
  std::size_t waves = 0;       // of the tuning units
  std::size_t peak_bytes = 0;  // of the largest wave, beyond the data
};

struct Status {
  double part = 0;  // of the whole study, by work
  std::size_t units_done = 0;
  std::size_t units = 0;
  std::string doing;         // "nsl-kdd logistic lambda=0.1: adam, epoch 3 of 20"
  std::size_t alive = 0;     // members of the unit in training
  double member_epochs = 0;  // trained here so far
  double seconds = 0;        // since run() began
  std::string best;          // "adam 0.2657, diag-to 0.2643": so far, on this task
};

/// Where the time of run() went.
struct Timing {
  double all = 0;
  double training = 0;  // and evaluation
  double store = 0;
  double loading = 0;  // of data sets
  double optimum = 0;
  double waiting = 0;  // for other processes
  double member_epochs = 0;
};

class Runner {
 public:
  /// Reads the data and plans. Throws std::invalid_argument and data::DataError.
  Runner(StudySpec study, RunOptions options);

  const StudySpec& study() const { return study_; }
  const StudyPlan& plan() const { return plan_; }
  /// About how long all of it takes when no member diverges, by training a few steps.
  double estimate_seconds();

  /// Works until nothing is left, here or in another process. False when `progress`, which is
  /// called between steps, returned false: whole units are kept.
  bool run(store::Store& store, const std::function<bool(const Status&)>& progress);
  const Timing& timing() const { return timing_; }

 private:
  struct Work;  // what run() knows
  struct Part;
  std::shared_ptr<const data::Task> data_of(const TaskSpec& task);
  std::shared_ptr<const Problem> problem_of(const TaskSpec& task);
  train::TrainOptions train_options(const TaskSpec& task, std::uint64_t seed) const;
  /// Whose tuning runs decide: the optimizer itself, or the one whose grid it is a part of.
  std::size_t tuned_by(std::size_t optimizer) const;
  /// Members that it trains on the tuning seed: none where its grid is a part of another's.
  std::size_t tuning_members(std::size_t optimizer) const;
  /// Of one member over all epochs.
  double steps_of(const PlannedTask& planned) const;
  /// Floats touched by one member over all epochs: what work is measured in.
  double work_of(std::size_t task, std::size_t optimizer) const;
  std::size_t members_a_unit(std::size_t task, std::size_t optimizer) const;
  std::size_t seeds_a_unit(std::size_t task, std::size_t optimizer) const;
  struct Pace {
    double step = 0;
    double evaluation = 0;
  };
  Pace measure_pace(const PlannedTask& planned, std::size_t optimizer);
  void add_tuning(Work& work);
  OptimizerRuns tuned_runs(const Work& work, std::int64_t task, std::size_t optimizer) const;
  bool add_measuring(Work& work);
  void train_unit(Work& work, const store::Unit& unit);
  void train_members(Work& work, const Part& part, std::vector<store::MemberRow>& rows);
  /// Says how far it is; false if it is to stop.
  bool tell(Work& work, const Part& part, const train::Trainer& trainer, double part_done) const;
  /// Likewise, for those who look at the store.
  void tell_store(Work& work, const Part& part, const train::Trainer& trainer) const;
  void halve(train::Trainer& trainer) const;
  void find_optima(Work& work);

  StudySpec study_;
  RunOptions options_;
  StudyPlan plan_;
  std::vector<std::vector<train::Setting>> grids_;  // of each optimizer
  // The data set in use: studies go from task to task, and one after another fits where all do not.
  std::string loaded_;
  std::shared_ptr<const data::Task> data_;
  std::string made_;  // the task of the problem in use: some take long to make
  std::shared_ptr<const Problem> problem_;
  Timing timing_;
};

/// Every option of the setting: those it does not name have their default value.
OptionMap resolved_options(const train::Setting& setting);

}  // namespace tandem::study
