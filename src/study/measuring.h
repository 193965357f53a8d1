// SPDX-License-Identifier: MIT
// Adds the units that measure what tuning chose, as soon as a whole grid was tuned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "store/store.h"
#include "study/results.h"
#include "study/study_plan.h"
#include "study/teller.h"

namespace tandem::study {

class Measuring {
 public:
  Measuring(const StudySpec& study, const StudyPlan& plan, store::Store& store,
            std::int64_t study_id, std::vector<std::int64_t> task_ids)
      : study_(study),
        plan_(plan),
        store_(store),
        study_id_(study_id),
        task_ids_(std::move(task_ids)) {}

  /// Looks at every task. Returns what is in the store now.
  std::vector<store::Unit> add_all(Teller& teller);
  /// Looks at one task, after a unit that tunes the optimizer was done.
  std::vector<store::Unit> add(std::size_t task, std::size_t tuned, Teller& teller);

 private:
  OptimizerRuns tuned_runs(std::size_t task, std::size_t optimizer) const;
  /// Adds the units of an optimizer's best setting, unless it is one of `measured`, to which it is
  /// added. Returns its least loss; none where no setting was left.
  std::optional<double> choose(std::size_t task, std::size_t optimizer, const OptimizerRuns& tuned,
                               ReportLoss loss, std::vector<OptionMap>& measured,
                               std::vector<store::Unit>& units) const;

  const StudySpec& study_;
  const StudyPlan& plan_;
  store::Store& store_;
  std::int64_t study_id_;
  std::vector<std::int64_t> task_ids_;
  std::set<std::pair<std::size_t, std::size_t>> added_;  // task, optimizer whose grid was tuned
};

}  // namespace tandem::study
