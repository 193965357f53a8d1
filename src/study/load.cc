// SPDX-License-Identifier: MIT
#include "study/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "study/comparison.h"

namespace tandem::study {
namespace {

OptimizerRuns& runs_of(TaskRuns& task, const store::MemberRow& member) {
  for (OptimizerRuns& optimizer : task.optimizers) {
    if (optimizer.label == member.optimizer) return optimizer;
  }
  task.optimizers.push_back({.label = member.optimizer,
                             .method = member.method,
                             .baseline = member.baseline,
                             .grid = {},
                             .tuned = {},
                             .measured = {}});
  return task.optimizers.back();
}

std::map<std::string, std::vector<std::string>> grid_of(const std::vector<Run>& runs) {
  std::map<std::string, std::vector<std::string>> grid;
  for (const Run& run : runs) {
    for (const auto& [name, value] : run.options) {
      std::vector<std::string>& values = grid[name];
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  std::erase_if(grid, [](const auto& entry) { return entry.second.size() < 2; });
  return grid;
}

TaskRuns load_task(const store::Store& store, const store::Task& stored) {
  TaskRuns task{.name = stored.key,
                .data = stored.data,
                .model = stored.model,
                .lambda = stored.lambda,
                .batch = stored.batch,
                .samples = stored.samples,
                .dimension = stored.dimension,
                .optimum = stored.optimum,
                .optimizers = {}};
  for (store::MemberRow& member : store.members(stored.id, true)) {
    OptimizerRuns& optimizer = runs_of(task, member);
    auto& runs = member.phase == store::Phase::tune ? optimizer.tuned : optimizer.measured;
    runs.push_back({.options = std::move(member.options),
                    .seed = member.seed,
                    .diverged = member.diverged,
                    .pruned = member.pruned,
                    .state_bytes = member.state_bytes,
                    .points = std::move(member.points)});
  }
  for (OptimizerRuns& optimizer : task.optimizers) optimizer.grid = grid_of(optimizer.tuned);
  return task;
}

}  // namespace

store::Study find_study(const store::Store& store, const std::string& name) {
  if (auto study = store.find_study(name)) return *study;
  std::vector<std::string> names;
  for (const store::Study& study : store.studies()) names.push_back(study.name);
  throw std::invalid_argument(
      fmt::format("Unknown study '{}' in {}{}", name, store.path().string(),
                  names.empty() ? ", which has none" : suggestion(name, names)));
}

StudyRuns load_study(const store::Store& store, const std::string& name) {
  const store::Study study = find_study(store, name);
  const store::Progress progress = store.progress(study.id);
  StudyRuns runs{.name = study.name,
                 .pruned = study.pruned,
                 .complete = progress.units > 0 && progress.done == progress.units,
                 .epochs = study.epochs,
                 .tune_seed = study.tune_seed,
                 .seeds = study.seeds,
                 .text = study.text,
                 .command = study.command,
                 .version = study.version,
                 .machine = study.machine,
                 .tasks = {}};
  for (const store::Task& task : store.tasks(study.id)) {
    runs.tasks.push_back(load_task(store, task));
    // Units that measure are added when tuning is done.
    for (const OptimizerRuns& optimizer : runs.tasks.back().optimizers) {
      if (best_of_grid(optimizer) != nullptr && optimizer.measured.size() < runs.seeds.size()) {
        runs.complete = false;
      }
    }
  }
  return runs;
}

}  // namespace tandem::study
