// SPDX-License-Identifier: MIT
#include "study/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
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
                             .ablation = false,
                             .grid = {},
                             .tuned = {},
                             .measured = {}});
  return task.optimizers.back();
}

std::map<std::string, std::vector<std::string>> grid_of(const std::vector<Run>& runs) {
  std::map<std::string, std::vector<std::string>> grid;
  std::map<std::string, std::unordered_set<std::string_view>> known;
  for (const Run& run : runs) {
    for (const auto& [name, value] : run.options) {
      if (known[name].insert(value).second) grid[name].push_back(value);
    }
  }
  std::erase_if(grid, [](const auto& entry) { return entry.second.size() < 2; });
  return grid;
}

/// Optimizers in the order of the study, parts of grids among them: their runs on the tuning seed
/// are those of the whole grid, and so are measured ones where its best setting lies in the part.
std::vector<OptimizerRuns> in_order(std::vector<OptimizerRuns> found,
                                    const std::vector<OptimizerSpec>& specs) {
  const auto place_of = [&](const std::string& label) {
    return std::find_if(found.begin(), found.end(),
                        [&](const OptimizerRuns& runs) { return runs.label == label; });
  };
  std::vector<OptimizerRuns> parts(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto whole = place_of(specs[i].part_of);
    if (specs[i].part_of.empty() || whole == found.end()) continue;
    parts[i] = restricted(*whole, specs[i]);
    const auto own = place_of(specs[i].label);
    if (own != found.end()) {
      std::move(own->measured.begin(), own->measured.end(), std::back_inserter(parts[i].measured));
    }
  }
  std::vector<OptimizerRuns> ordered;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto own = place_of(specs[i].label);
    if (!specs[i].part_of.empty()) {
      if (!parts[i].label.empty()) ordered.push_back(std::move(parts[i]));
    } else if (own != found.end()) {
      own->ablation = specs[i].ablation;
      ordered.push_back(std::move(*own));
    }
    if (own != found.end()) found.erase(own);
  }
  std::move(found.begin(), found.end(), std::back_inserter(ordered));
  return ordered;
}

/// Measured runs are of what the least loss of another kind chose as well, or of the whole grid.
void keep_the_chosen(OptimizerRuns& optimizer) {
  const Run* best = best_of_grid(optimizer);
  if (best == nullptr) return;
  const auto others =
      std::stable_partition(optimizer.measured.begin(), optimizer.measured.end(),
                            [&](const Run& run) { return run.options == best->options; });
  std::move(others, optimizer.measured.end(), std::back_inserter(optimizer.others));
  optimizer.measured.erase(others, optimizer.measured.end());
}

TaskRuns load_task(const store::Store& store, const store::Task& stored,
                   const std::vector<OptimizerSpec>& specs, ReportLoss loss, store::Curves curves) {
  TaskRuns task{.name = stored.key,
                .data = stored.data,
                .model = stored.model,
                .lambda = stored.lambda,
                .batch = stored.batch,
                .samples = stored.samples,
                .dimension = stored.dimension,
                .optimum = stored.optimum,
                .optimizers = {}};
  for (store::MemberRow& member : store.members(stored.id, curves)) {
    OptimizerRuns& optimizer = runs_of(task, member);
    auto& runs = member.phase == store::Phase::tune ? optimizer.tuned : optimizer.measured;
    runs.push_back({.options = std::move(member.options),
                    .seed = member.seed,
                    .diverged = member.diverged,
                    .pruned = member.pruned,
                    .state_bytes = member.state_bytes,
                    .points = std::move(member.points)});
  }
  for (OptimizerRuns& optimizer : task.optimizers) {
    optimizer.grid = grid_of(optimizer.tuned);
    if (loss == ReportLoss::total) continue;
    if (!report_data_loss(optimizer.tuned) || !report_data_loss(optimizer.measured)) {
      throw std::invalid_argument(fmt::format(
          "{}: the loss without lambda's part is not known: an older version trained it",
          task.name));
    }
  }
  if (loss == ReportLoss::data) task.optimum.reset();  // of the whole loss
  task.optimizers = in_order(std::move(task.optimizers), specs);
  for (OptimizerRuns& optimizer : task.optimizers) keep_the_chosen(optimizer);
  return task;
}

}  // namespace

store::Study find_study(const store::Store& store, const std::string& name) {
  if (auto study = store.find_study(name)) return *study;
  std::vector<std::string> names;
  for (const store::Study& study : store.studies()) names.push_back(study.name);
  throw std::invalid_argument(
      fmt::format("Unknown study '{}' in {}{}", name, store.name(),
                  names.empty() ? ", which has none" : suggestion(name, names)));
}

StudyRuns load_study(const store::Store& store, const std::string& name, ReportLoss loss,
                     store::Curves curves) {
  const store::Study study = find_study(store, name);
  const store::Progress progress = store.progress(study.id);
  StudyRuns runs{.name = study.name,
                 .pruned = study.pruned,
                 .complete = progress.units > 0 && progress.done == progress.units,
                 .report_loss = loss,
                 .epochs = study.epochs,
                 .tune_seed = study.tune_seed,
                 .seeds = study.seeds,
                 .text = study.text,
                 .command = study.command,
                 .version = study.version,
                 .target = study.target,
                 .machine = study.machine,
                 .created = study.created,
                 .tasks = {}};
  const std::vector<OptimizerSpec> optimizers = optimizers_of(study.text);
  for (const store::Task& task : store.tasks(study.id)) {
    runs.tasks.push_back(load_task(store, task, optimizers, loss, curves));
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
