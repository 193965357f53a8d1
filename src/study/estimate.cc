// SPDX-License-Identifier: MIT
#include "study/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/stopwatch.h"
#include "sources/source.h"
#include "study/train_options.h"

namespace tandem::study {
namespace {

/// Seconds of one member.
struct Pace {
  double step = 0;
  double evaluation = 0;
};

Pace measure_pace(const StudySpec& study, const PlannedTask& task, const Problem& problem,
                  const std::vector<train::Setting>& grid,
                  const std::shared_ptr<Executor>& executor) {
  constexpr std::size_t kMembers = 16;
  constexpr int kSteps = 10;
  const bool full = sources::parse_method(grid.front().method).rule == "full-to";
  std::vector<train::Setting> few = grid;
  few.resize(full || task.one_at_a_time ? 1 : std::min(kMembers, grid.size()));
  const double began = seconds_now();
  double first = began;  // stays so where all diverge at the start
  double last = began;
  int calls = 0;
  train::TrainOptions options = train_options(study, task.spec, study.tune_seed);
  options.progress = [&](double) {
    last = seconds_now();
    if (calls++ == 0) first = last;
    return calls <= kSteps;
  };
  try {
    train::Trainer(problem, few, options, executor).epoch();
  } catch (const train::Interrupted&) {
  }
  const auto members = static_cast<double>(few.size());
  Pace pace{.step = calls > 1 ? (last - first) / (calls - 1) / members : 0,
            .evaluation = (first - began) / members};
  if (full) {  // the first steps are the cheapest
    const auto d = static_cast<double>(task.dimension);
    const auto steps = static_cast<double>(task.steps);
    pace.step = std::max(pace.step, 4 * d * std::min(steps / 2, d) / 2e10);
  }
  return pace;
}

}  // namespace

double estimate_seconds(const StudySpec& study, const StudyPlan& plan, TaskLoader& loader,
                        const std::shared_ptr<Executor>& executor) {
  double all = 0;
  std::map<std::pair<std::string, std::size_t>, Pace> paces;  // task without lambda, optimizer
  for (const PlannedTask& task : plan.tasks) {
    const std::string kind =
        fmt::format("{} {} {}", task.data_hash, task.description, task.spec.batch);
    for (std::size_t o = 0; o < plan.optimizers.size(); ++o) {
      const PlannedOptimizer& optimizer = plan.optimizers[o];
      // Where gradients are most of the time, one optimizer tells of all.
      const auto [pace, is_new] = paces.try_emplace({kind, task.one_at_a_time ? 0 : o});
      if (is_new) {
        pace->second =
            measure_pace(study, task, *loader.problem(task.spec), optimizer.grid, executor);
      }
      const auto runs =
          static_cast<double>(optimizer.tuning_members + measured_runs(study, optimizer));
      all += runs * (static_cast<double>(task.steps) * pace->second.step +
                     static_cast<double>(study.epochs + 1) * pace->second.evaluation);
    }
  }
  return all;
}

}  // namespace tandem::study
