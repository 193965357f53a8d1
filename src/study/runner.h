// SPDX-License-Identifier: MIT
// Runs a study: every optimizer's grid on the tuning seed, then the best setting of each on the
// other seeds, and F*. Work is cut into units that are kept in the store when they are whole; what a
// unit gives depends on the study alone, so that any number of processes, killed as often as you
// like, end with the same rows. study_plan.h cuts, measuring.h chooses, teller.h says how far it is.
#pragma once

#include <tandem/executor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"
#include "study/study_file.h"
#include "study/study_part.h"
#include "study/study_plan.h"
#include "study/task_loader.h"
#include "study/teller.h"

namespace tandem::study {

struct RunOptions {
  std::filesystem::path data_dir = {};
  std::size_t memory = 0;  // bytes for a wave of members; 0: three quarters of what is free
  std::string command = {};
  /// A recipe's name is hidden by one of these. They are as they are: a task's own `validation` and
  /// options of data do not count.
  GivenData data = {};
  std::shared_ptr<Executor> executor = {};  // null: default_executor()
  /// A dead process of this machine is noticed at once, one of another machine after this time.
  int lease_seconds = 600;
  /// Between checkpoints of a unit in the store; a unit that is given back leaves one too. They are
  /// made after epochs.
  double checkpoint_seconds = 60;
  /// Only its units are worked on.
  std::optional<StudyPart> part = {};
  /// Units in the hands of others are waited for: they may come back.
  bool wait = true;
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

  /// The study, its tasks and all units that are known before tuning are in the store afterwards.
  /// Throws store::StoreError where another study or other data are there.
  store::Study add(store::Store& store);

  /// Adds the study and works until nothing is left, here or in another process; without
  /// `RunOptions::wait` until nothing is left to take. False when `progress`, which is called between
  /// steps, returned false: whole units are kept. Throws store::StoreError; where the store was
  /// removed or moved, what it held and what was trained last is saved in another file, which the
  /// message names.
  bool run(store::Store& store, const std::function<bool(const Status&)>& progress);
  const Timing& timing() const { return timing_; }

 private:
  struct Work;  // what run() knows
  bool work_through(Work& work);
  std::optional<store::Lease> next_unit(Work& work);
  /// Adds what measures the grids that are tuned by now.
  void add_measuring(Work& work);
  void do_unit(Work& work, const store::Lease& lease);
  std::vector<store::MemberRow> train(Work& work, const store::Lease& lease, const UnitWork& unit);
  /// Trains the unit's next population.
  std::vector<train::Member> train(Work& work, const Part& part,
                                   const std::vector<train::Setting>& population);
  /// How far the unit is, for whoever takes it next.
  void keep_checkpoint(Work& work);
  std::optional<double> find_optimum_of(Work& work, std::size_t task);
  void finish(Work& work, const store::Lease& lease, const std::vector<store::MemberRow>& rows,
              std::optional<double> optimum);
  /// To be called often while a unit is in work.
  void keep_lease(Work& work) const;
  void halve(train::Trainer& trainer) const;

  StudySpec study_;
  RunOptions options_;
  TaskLoader loader_;
  StudyPlan plan_;
  std::vector<std::int64_t> task_ids_;  // in the store
  Timing timing_;
};

}  // namespace tandem::study
