// SPDX-License-Identifier: MIT
#include "study/study_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sources/source.h"
#include "study/train_options.h"
#include "train/plan.h"

namespace tandem::study {
namespace {

using Json = nlohmann::json;

// A killed process loses at most a unit: about a minute on two cores.
constexpr double kWorkAUnit = 2.5e10;
constexpr std::size_t kMostMembersAUnit = 512;
// Runs that measure are one after another, each as a population of one.
constexpr double kMeasuringAUnit = kWorkAUnit / 10;

// The order of units: by task; in a task tuning, then measuring, then F*; then by optimizer.
constexpr int kTaskBits = 40;
constexpr int kPhaseBits = 38;
constexpr int kOptimizerBits = 20;

std::int64_t place_of(std::size_t task, store::Phase phase, std::size_t optimizer,
                      std::size_t within) {
  return static_cast<std::int64_t>(task) << kTaskBits |
         static_cast<std::int64_t>(phase) << kPhaseBits |
         static_cast<std::int64_t>(optimizer) << kOptimizerBits | static_cast<std::int64_t>(within);
}

std::string hash_text(const data::Task& task) {
  std::string text = fmt::format("{:016x}", task.train.fingerprint());
  if (task.validation) text += fmt::format("-{:016x}", task.validation->fingerprint());
  return text;
}

double work_of_member(const PlannedTask& task, const std::string& method) {
  const auto d = static_cast<double>(task.dimension);
  const auto steps = static_cast<double>(task.steps);
  // Full-TO reads its matrix, or the history so far: four bytes a float where the others do about
  // forty bytes' worth of work for each weight.
  const double floats =
      sources::parse_method(method).rule == "full-to" ? d + d * std::min(steps / 2, d) / 10 : d;
  return floats * steps;
}

/// How many runs make a unit of so much work.
std::size_t runs_a_unit(const PlannedTask& task, std::size_t optimizer, double work,
                        std::size_t most) {
  if (task.one_at_a_time) return 1;
  return static_cast<std::size_t>(
      std::clamp(work / task.work[optimizer], 1.0, static_cast<double>(most)));
}

std::size_t seeds_a_unit(const StudySpec& study, const PlannedTask& task, std::size_t optimizer) {
  return runs_a_unit(task, optimizer, kMeasuringAUnit,
                     std::max<std::size_t>(1, study.seeds.size()));
}

std::vector<PlannedOptimizer> plan_optimizers(const StudySpec& study) {
  std::vector<PlannedOptimizer> planned;
  for (std::size_t o = 0; o < study.optimizers.size(); ++o) {
    const OptimizerSpec& spec = study.optimizers[o];
    PlannedOptimizer one{.grid = expand(spec.method, spec.grid), .tuned_by = o};
    if (spec.part_of.empty()) {
      one.tuning_members = one.grid.size();
    } else {
      one.tuned_by = static_cast<std::size_t>(
          std::find_if(study.optimizers.begin(), study.optimizers.end(),
                       [&](const OptimizerSpec& each) { return each.label == spec.part_of; }) -
          study.optimizers.begin());
    }
    planned.push_back(std::move(one));
  }
  return planned;
}

PlannedTask plan_task(const StudySpec& study, const TaskSpec& spec, TaskLoader& loader) {
  const auto problem = loader.problem(spec);
  if (spec.batch > problem->samples()) {
    throw std::invalid_argument(
        fmt::format("{}: Invalid batch: {}, expected at most {}, the number of training samples",
                    task_name(spec), spec.batch, problem->samples()));
  }
  const auto data = loader.data(spec);
  PlannedTask task{
      .spec = spec,
      .name = task_name(spec),
      .description = problem->description(),
      .samples = problem->samples(),
      .dimension = problem->dimension(),
      .one_at_a_time = problem->session(study.tune_seed) != nullptr,
      .has_optimum = study.optimum && spec.model == "logistic" && spec.lambda > 0 &&
                     spec.loss == problems::Loss::cross_entropy,  // the other is not convex
      .data_hash = hash_text(*data),
      .notes = data->notes,
      .steps = train::total_steps(*problem, train_options(study, spec, study.tune_seed)),
      .work = {}};
  for (const OptimizerSpec& optimizer : study.optimizers) {
    task.work.push_back(work_of_member(task, optimizer.method));
  }
  return task;
}

/// The units that tune on one task, or train its whole grids on all seeds; adds what they need to
/// the plan's sums.
std::vector<PlannedUnit> plan_populations(const StudySpec& study, StudyPlan& plan, std::size_t t,
                                          const Problem& problem, std::size_t memory) {
  const PlannedTask& task = plan.tasks[t];
  std::vector<PlannedUnit> units;
  for (std::size_t o = 0; o < plan.optimizers.size(); ++o) {
    const std::vector<train::Setting>& grid = plan.optimizers[o].grid;
    const std::size_t count = plan.optimizers[o].tuning_members;
    const std::size_t each = study.prune != 0 ? std::max<std::size_t>(1, count)
                                              : runs_a_unit(task, o, kWorkAUnit, kMostMembersAUnit);
    for (std::size_t first = 0; first < count; first += each) {
      const std::size_t last = std::min(first + each, count);
      units.push_back({t, o, first, last, study.tune_seed});
      const std::vector<train::Setting> part(grid.begin() + static_cast<std::ptrdiff_t>(first),
                                             grid.begin() + static_cast<std::ptrdiff_t>(last));
      const train::Plan waves = train::make_plan(problem, part, memory, task.steps);
      if (study.prune != 0 && waves.waves.size() > 1) {
        throw std::invalid_argument(fmt::format(
            "{}: {} settings of {} need {} waves, and a grid is pruned in one: raise --memory",
            task.name, grid.size(), grid.front().method, waves.waves.size()));
      }
      plan.waves += waves.waves.size() * (study.measure_all ? study.seeds.size() + 1 : 1);
      plan.peak_bytes = std::max(plan.peak_bytes, waves.peak_bytes);
    }
    const std::size_t runs = measured_runs(study, plan.optimizers[o]);
    plan.members += count;
    plan.runs += runs;
    plan.work += task.work[o] * static_cast<double>(count + runs);
    if (study.measure_all) continue;
    const std::size_t seeds = seeds_a_unit(study, task, o);
    plan.units += (study.seeds.size() + seeds - 1) / seeds;
  }
  if (study.measure_all) {
    const std::size_t tuning = units.size();
    for (const std::uint64_t seed : study.seeds) {
      for (std::size_t u = 0; u < tuning; ++u) {
        units.push_back(units[u]);
        units.back().seed = seed;
      }
    }
  }
  plan.units += units.size() + (task.has_optimum ? 1 : 0);
  return units;
}

/// Of a unit's own JSON; anything else in its place is damage.
std::size_t number_in(const Json& members, const char* name, std::size_t end) {
  if (!members.is_object() || !members.contains(name)) {
    throw std::out_of_range(fmt::format("'{}' is missing", name));
  }
  const Json& value = members.at(name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end) {
    throw std::out_of_range(
        fmt::format("found '{}' {}, expected a whole number below {}", name, value.dump(), end));
  }
  return value.get<std::size_t>();
}

}  // namespace

std::size_t measured_runs(const StudySpec& study, const PlannedOptimizer& optimizer) {
  return study.seeds.size() * (study.measure_all ? optimizer.tuning_members : 1);
}

StudyPlan plan_study(const StudySpec& study, TaskLoader& loader, std::size_t memory) {
  StudyPlan plan;
  plan.optimizers = plan_optimizers(study);
  plan.tasks.resize(study.tasks.size());
  std::vector<std::vector<PlannedUnit>> populations(study.tasks.size());
  // The data of a task that comes first are read last, and are then at hand.
  for (std::size_t t = study.tasks.size(); t-- > 0;) {
    plan.tasks[t] = plan_task(study, study.tasks[t], loader);
    populations[t] = plan_populations(study, plan, t, *loader.problem(study.tasks[t]), memory);
  }
  for (const auto& units : populations) {
    for (const PlannedUnit& unit : units) {
      (unit.seed == study.tune_seed ? plan.tuning : plan.measuring).push_back(unit);
    }
  }
  return plan;
}

std::vector<store::Unit> population_units(const StudySpec& study, const StudyPlan& plan,
                                          const std::vector<std::int64_t>& task_ids) {
  std::vector<store::Unit> units;
  const auto add = [&](const PlannedUnit& unit, store::Phase phase, const std::string& what) {
    const PlannedTask& task = plan.tasks[unit.task];
    const std::string& label = study.optimizers[unit.optimizer].label;
    units.push_back(
        {.task_id = task_ids[unit.task],
         .key = fmt::format("{}/{}/{}/{}", task.name, label, what, unit.first),
         .optimizer = label,
         .phase = phase,
         .seed = unit.seed,
         .members = Json{{"first", unit.first}, {"last", unit.last}}.dump(),
         .place = place_of(unit.task, phase, unit.optimizer, unit.first),
         .work = task.work[unit.optimizer] * static_cast<double>(unit.last - unit.first)});
  };
  for (const PlannedUnit& unit : plan.tuning) add(unit, store::Phase::tune, "tune");
  for (const PlannedUnit& unit : plan.measuring) {
    add(unit, store::Phase::measure, fmt::format("measure/{}", unit.seed));
  }
  return units;
}

std::vector<store::Unit> measuring_units(const StudySpec& study, const StudyPlan& plan,
                                         std::size_t task, std::int64_t id, std::size_t optimizer,
                                         std::size_t setting, ReportLoss chosen_by) {
  const bool total = chosen_by == ReportLoss::total;
  const PlannedTask& planned = plan.tasks[task];
  const std::string& label = study.optimizers[optimizer].label;
  const std::size_t each = seeds_a_unit(study, planned, optimizer);
  std::vector<store::Unit> units;
  for (std::size_t s = 0; s < study.seeds.size(); s += each) {
    const std::size_t end = std::min(s + each, study.seeds.size());
    const std::vector<std::uint64_t> seeds(study.seeds.begin() + static_cast<std::ptrdiff_t>(s),
                                           study.seeds.begin() + static_cast<std::ptrdiff_t>(end));
    units.push_back({.task_id = id,
                     .key = fmt::format("{}/{}/measure{}/{}", planned.name, label,
                                        total ? "" : " by data loss", study.seeds[s]),
                     .optimizer = label,
                     .phase = store::Phase::measure,
                     .seed = study.seeds[s],
                     .members = Json{{"setting", setting}, {"seeds", seeds}}.dump(),
                     .place = place_of(task, store::Phase::measure, optimizer,
                                       s + (total ? 0 : study.seeds.size())),
                     .work = planned.work[optimizer] * static_cast<double>(seeds.size())});
  }
  return units;
}

store::Unit optimum_unit(const StudyPlan& plan, std::size_t task, std::int64_t id) {
  return {.task_id = id,
          .key = plan.tasks[task].name + "/optimum",
          .phase = store::Phase::optimum,
          .members = "{}",
          .place = place_of(task, store::Phase::optimum, 0, 0)};
}

UnitWork work_of(const StudySpec& study, const StudyPlan& plan, std::size_t task,
                 const store::Unit& unit) {
  UnitWork work{.task = task};
  if (unit.phase == store::Phase::optimum) return work;
  try {
    const auto spec =
        std::find_if(study.optimizers.begin(), study.optimizers.end(),
                     [&](const OptimizerSpec& each) { return each.label == unit.optimizer; });
    if (spec == study.optimizers.end()) {
      throw std::out_of_range(
          fmt::format("found the optimizer '{}', which is none of the study's", unit.optimizer));
    }
    work.optimizer = static_cast<std::size_t>(spec - study.optimizers.begin());
    const std::vector<train::Setting>& grid = plan.optimizers[work.optimizer].grid;
    const Json members = Json::parse(unit.members);
    const bool tune = unit.phase == store::Phase::tune;
    const bool population = tune || study.measure_all;
    const std::size_t first = number_in(members, population ? "first" : "setting", grid.size());
    const std::size_t last = population ? number_in(members, "last", grid.size() + 1) : first + 1;
    if (last <= first) throw std::out_of_range(fmt::format("'last' is not above {}", first));
    work.settings.assign(grid.begin() + static_cast<std::ptrdiff_t>(first),
                         grid.begin() + static_cast<std::ptrdiff_t>(last));
    work.seeds = population ? std::vector<std::uint64_t>{unit.seed}
                            : members.at("seeds").get<std::vector<std::uint64_t>>();
    for (const std::uint64_t seed : work.seeds) {
      const bool known = tune ? seed == study.tune_seed
                              : std::count(study.seeds.begin(), study.seeds.end(), seed) > 0;
      if (!known) {
        throw std::out_of_range(fmt::format("found seed {}, which is none of the study's", seed));
      }
    }
    return work;
  } catch (const std::out_of_range& error) {
    throw store::StoreError(fmt::format("study '{}', unit '{}': {}: the store is damaged",
                                        study.name, unit.key, error.what()));
  } catch (const Json::exception& error) {
    throw store::StoreError(
        fmt::format("study '{}', unit '{}': found '{}', expected what the study planned ({}): the "
                    "store is damaged",
                    study.name, unit.key, unit.members, error.what()));
  }
}

}  // namespace tandem::study
