// SPDX-License-Identifier: MIT
#include "study/measuring.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/comparison.h"
#include "study/train_options.h"

namespace tandem::study {

std::vector<store::Unit> Measuring::add_all(Teller& teller) {
  std::vector<store::Unit> all;
  for (std::size_t t = 0; t < task_ids_.size(); ++t) {
    for (std::size_t o = 0; o < plan_.optimizers.size(); ++o) {
      if (plan_.optimizers[o].tuned_by != o) continue;
      const std::vector<store::Unit> units = add(t, o, teller);
      all.insert(all.end(), units.begin(), units.end());
    }
  }
  return all;
}

std::vector<store::Unit> Measuring::add(std::size_t task, std::size_t tuned, Teller& teller) {
  if (study_.measure_all || added_.contains({task, tuned})) return {};
  if (!store_.is_tuned(task_ids_[task], study_.optimizers[tuned].label)) return {};
  const OptimizerRuns total = tuned_runs(task, tuned);
  OptimizerRuns data = total;
  // Reports may leave lambda's part out, and then another setting may be the best.
  const bool both = plan_.tasks[task].spec.lambda > 0 && report_data_loss(data.tuned);
  std::vector<store::Unit> units;
  const auto choose_of = [&](std::size_t optimizer, std::vector<OptionMap>& measured) {
    const auto least = choose(task, optimizer, total, ReportLoss::total, measured, units);
    if (least) teller.set_best(task, optimizer, *least);
    if (both) choose(task, optimizer, data, ReportLoss::data, measured, units);
  };
  std::vector<OptionMap> of_whole;
  choose_of(tuned, of_whole);
  for (std::size_t o = 0; o < plan_.optimizers.size(); ++o) {
    if (o == tuned || plan_.optimizers[o].tuned_by != tuned) continue;
    std::vector<OptionMap> measured = of_whole;  // what a part has of it need not be done again
    choose_of(o, measured);
  }
  store_.add_units(study_id_, units);  // another process may have: then nothing is new
  added_.insert({task, tuned});
  return units;
}

OptimizerRuns Measuring::tuned_runs(std::size_t task, std::size_t optimizer) const {
  OptimizerRuns runs;
  for (store::MemberRow& row : store_.members(task_ids_[task], store::Curves::outline,
                                              study_.optimizers[optimizer].label)) {
    if (row.phase != store::Phase::tune) continue;
    runs.tuned.push_back({.options = std::move(row.options),
                          .seed = row.seed,
                          .diverged = row.diverged,
                          .pruned = row.pruned,
                          .state_bytes = row.state_bytes,
                          .points = std::move(row.points)});
  }
  return runs;
}

std::optional<double> Measuring::choose(std::size_t task, std::size_t optimizer,
                                        const OptimizerRuns& tuned, ReportLoss loss,
                                        std::vector<OptionMap>& measured,
                                        std::vector<store::Unit>& units) const {
  const bool whole = plan_.optimizers[optimizer].tuned_by == optimizer;
  const OptimizerRuns part =
      whole ? OptimizerRuns{} : restricted(tuned, study_.optimizers[optimizer]);
  const Run* best = best_of_grid(whole ? tuned : part);
  if (best == nullptr) return std::nullopt;
  const std::optional<double> least = min_loss(*best);
  if (std::find(measured.begin(), measured.end(), best->options) != measured.end()) return least;
  measured.push_back(best->options);
  const std::vector<train::Setting>& grid = plan_.optimizers[optimizer].grid;
  const auto chosen = std::find_if(grid.begin(), grid.end(), [&](const train::Setting& setting) {
    return resolved_options(setting) == best->options;
  });
  if (chosen == grid.end()) {
    throw store::StoreError(fmt::format(
        "study '{}', {}: the best run of {} has options that are none of the grid's: the store is "
        "damaged",
        study_.name, plan_.tasks[task].name, study_.optimizers[optimizer].label));
  }
  const auto more = measuring_units(study_, plan_, task, task_ids_[task], optimizer,
                                    static_cast<std::size_t>(chosen - grid.begin()), loss);
  units.insert(units.end(), more.begin(), more.end());
  return least;
}

}  // namespace tandem::study
