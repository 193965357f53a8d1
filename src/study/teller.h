// SPDX-License-Identifier: MIT
// What a process says of itself while it works on a study: to whoever called it, and in the store
// to whoever looks on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/stopwatch.h"
#include "store/store.h"
#include "study/study_plan.h"
#include "train/trainer.h"

namespace tandem::study {

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

/// One population of a unit, and which part of the unit it is.
struct Part {
  const UnitWork& work;
  store::Phase phase = store::Phase::tune;
  std::uint64_t seed = 0;
  double begin = 0;
  double share = 1;
};

class Teller {
 public:
  /// `progress` returns false to stop the work.
  Teller(const StudySpec& study, const StudyPlan& plan, store::Store& store,
         const store::Study& stored, std::string owner,
         const std::function<bool(const Status&)>& progress);

  /// How far the whole study is, as the store has it.
  void set_progress(const store::Progress& progress);
  /// The least loss of an optimizer on a task so far.
  void set_best(std::size_t task, std::size_t optimizer, double loss);
  /// What is done besides training; false if it is to stop.
  bool tell(const std::string& doing);
  /// The same, to the caller alone.
  bool say(const std::string& doing);
  /// So much of the part is trained; false if it is to stop.
  bool tell(const Part& part, const train::Trainer& trainer, double done, double member_epochs);
  /// The process is done.
  void leave();

 private:
  void tell_store(const std::string& curve);
  std::string curve_of(const Part& part, const train::Trainer& trainer) const;

  const StudySpec& study_;
  const StudyPlan& plan_;
  store::Store& store_;
  std::int64_t study_id_;
  std::string owner_;
  std::string machine_;
  const std::function<bool(const Status&)>& progress_;
  Status status_;
  std::map<std::pair<std::size_t, std::size_t>, double> best_;
  double work_done_ = 0;
  double began_ = seconds_now();
  double told_ = 0;
  double told_store_ = 0;
  double part_at_first_ = -1;  // what was done when this process began
};

}  // namespace tandem::study
