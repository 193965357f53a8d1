// SPDX-License-Identifier: MIT
// From runs to rows: what tuning picks, rho and its tests, equal budgets.
#include "study/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "optimizers/text.h"

namespace tandem::study {
namespace {

const Run* run_of_seed(const std::vector<Run>& runs, std::uint64_t seed) {
  const auto at =
      std::find_if(runs.begin(), runs.end(), [&](const Run& run) { return run.seed == seed; });
  return at != runs.end() ? &*at : nullptr;
}

/// None where the baseline's loss is not positive: a ratio to it would say nothing.
std::optional<double> relative_gain(std::optional<double> baseline, std::optional<double> loss) {
  if (!baseline || !loss || *baseline <= 0) return std::nullopt;
  return (*baseline - *loss) / *baseline;
}

using Spent = double (*)(const train::Point&);
double evaluations_spent(const train::Point& point) {
  return static_cast<double>(point.gradient_evaluations);
}
double seconds_spent(const train::Point& point) { return point.seconds; }

/// The least loss of a run that did not fail, over the epochs that end within the budget; where
/// none does, the loss it started from.
std::optional<double> loss_within(const Run& run, Spent spent, double budget) {
  std::optional<double> least;
  for (const train::Point& point : run.points) {
    if (point.epoch == 0 || spent(point) > budget) continue;
    least = std::min(least.value_or(point.train_loss), point.train_loss);
  }
  if (!least && !run.points.empty()) least = run.points.front().train_loss;
  return least;
}

/// Two runs of one seed, neither of which failed.
struct Pair {
  const Run* baseline;
  const Run* run;
};

std::optional<double> mean_rho_within(const std::vector<Pair>& pairs, Spent spent) {
  std::vector<double> rhos;
  for (const auto& [baseline, run] : pairs) {
    const double budget = std::min(spent(baseline->points.back()), spent(run->points.back()));
    const auto rho = relative_gain(loss_within(*baseline, spent, budget),  //
                                   loss_within(*run, spent, budget));
    if (!rho) return std::nullopt;
    rhos.push_back(*rho);
  }
  return summarize(rhos).mean;
}

/// What each setting of a grid is worth: its least loss, the start among them, since nobody has to
/// take weights worse than those he began with; the loss at the start where it diverged. Empty if
/// that is not known of all: a pruned setting was not trained to its end.
std::vector<double> worth_of_grid(const std::vector<Run>& tuned) {
  std::vector<double> worth;
  for (const Run& run : tuned) {
    if (run.pruned && !failed(run)) return {};
    if (run.points.empty() || run.points.front().epoch != 0) return {};
    const double start = run.points.front().train_loss;
    if (!std::isfinite(start)) return {};
    worth.push_back(std::min(start, min_loss(run).value_or(start)));
  }
  return worth;
}

void fill_measured(Row& row, const TaskRuns& task, const std::vector<Run>& measured) {
  std::vector<double> seconds;
  for (const std::uint64_t seed : row.seeds) {
    const Run* run = run_of_seed(measured, seed);
    const auto loss = run != nullptr ? min_loss(*run) : std::nullopt;
    row.min_loss.push_back(loss);
    row.gap.push_back(loss && task.optimum ? std::optional(*loss - *task.optimum) : std::nullopt);
    if (run == nullptr) continue;
    ++row.measured;
    if (failed(*run)) {
      ++row.measured_diverged;
    } else if (!run->points.empty()) {
      if (seconds.empty()) row.gradient_evaluations = run->points.back().gradient_evaluations;
      seconds.push_back(run->points.back().seconds);
    }
  }
  row.seconds = summarize(seconds).mean;
}

/// Rho over the seeds, and what follows from it.
void fill_rho(Row& row, const std::vector<Run>& measured, const std::vector<Run>& baseline) {
  std::vector<Pair> pairs;
  std::vector<double> rhos;
  bool baseline_failed = false;
  bool whole = true;  // every pair of runs gave a rho
  for (std::size_t i = 0; i < row.seeds.size(); ++i) {
    const Pair pair{run_of_seed(baseline, row.seeds[i]), run_of_seed(measured, row.seeds[i])};
    auto& rho = row.rho_seeds[i];
    if (pair.baseline != nullptr && failed(*pair.baseline)) baseline_failed = true;
    if (pair.baseline == nullptr || pair.run == nullptr) continue;
    rho = relative_gain(min_loss(*pair.baseline), min_loss(*pair.run));
    if (rho) {
      pairs.push_back(pair);
      rhos.push_back(*rho);
    } else {
      whole = false;
    }
  }
  if (baseline_failed) return;
  const bool never = row.diverged > 0 && !row.tuned_loss;  // no setting was left to choose
  if (never || row.measured_diverged > 0) {
    row.mark = '-';
    return;
  }
  if (!whole) return;
  const Summary summary = summarize(rhos);
  row.rho = summary.mean;
  row.s = summary.s;
  row.p = summary.p;
  row.interval = summary.interval;
  if (row.s) row.mark = mark_of(*row.s);
  row.rho_evaluations = mean_rho_within(pairs, evaluations_spent);
  row.rho_seconds = mean_rho_within(pairs, seconds_spent);
}

void fill_budget(Row& row, const std::vector<Run>& tuned, const std::vector<Run>& baseline,
                 std::size_t budget) {
  row.budget = std::min({budget, tuned.size(), baseline.size()});
  const std::vector<double> ours = worth_of_grid(tuned);
  const std::vector<double> theirs = worth_of_grid(baseline);
  if (ours.empty() || theirs.empty()) return;
  const std::array draws{row.budget};
  // The mean would say how often settings diverge or never move.
  row.rho_budget = relative_gain(best_of(theirs, draws)[0].median,  //
                                 best_of(ours, draws)[0].median);
}

/// Options whose value is at an end of its grid that is no bound of what can be.
std::vector<std::string> edges(const OptimizerRuns& runs, const OptionMap& chosen) {
  std::vector<std::string> names;
  for (const auto& [name, texts] : runs.grid) {
    const auto option = chosen.find(name);
    if (option == chosen.end()) continue;
    const auto value = read_number(option->second);
    if (!value) continue;
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    bool numeric = true;
    for (const std::string& text : texts) {
      const auto number = read_number(text);
      numeric = numeric && number.has_value();
      least = std::min(least, number.value_or(least));
      greatest = std::max(greatest, number.value_or(greatest));
    }
    if (!numeric || !(least < greatest)) continue;
    const bool low = *value <= least && *value != 0;
    const bool high = *value >= greatest && !(name == "decay" && *value == 1);
    if (low || high) names.push_back(name);
  }
  return names;
}

}  // namespace

bool failed(const Run& run) {
  return run.diverged ||
         std::any_of(run.points.begin(), run.points.end(),
                     [](const train::Point& point) { return !std::isfinite(point.train_loss); });
}

std::optional<double> min_loss(const Run& run) {
  if (failed(run)) return std::nullopt;
  std::optional<double> least;
  for (const train::Point& point : run.points) {
    if (point.epoch > 0) least = std::min(least.value_or(point.train_loss), point.train_loss);
  }
  return least;
}

const Run* best_of_grid(std::span<const Run> tuned) {
  const Run* best = nullptr;
  double least = 0;
  for (const Run& run : tuned) {
    if (run.pruned) continue;
    const auto loss = min_loss(run);
    if (!loss || (best != nullptr && *loss >= least)) continue;
    best = &run;
    least = *loss;
  }
  return best;
}

const Run* best_of_grid(const OptimizerRuns& runs) { return best_of_grid(runs.tuned); }

std::size_t common_budget(std::span<const OptimizerRuns* const> optimizers,
                          const OptimizerRuns& baseline) {
  std::size_t least = baseline.tuned.size();
  for (const OptimizerRuns* runs : optimizers) {
    if (2 * runs->tuned.size() >= baseline.tuned.size()) {
      least = std::min(least, runs->tuned.size());
    }
  }
  return least;
}

Row compare(const StudyRuns& study, const TaskRuns& task, const OptimizerRuns& runs,
            const OptimizerRuns* baseline, std::size_t budget) {
  Row row;
  row.study = study.name;
  row.task = task.name;
  row.data = task.data;
  row.model = task.model;
  row.lambda = task.lambda;
  row.optimizer = runs.label;
  row.method = runs.method;
  row.baseline = runs.baseline;
  row.ablation = runs.ablation;
  row.pruned = study.pruned || std::any_of(runs.tuned.begin(), runs.tuned.end(),
                                           [](const Run& run) { return run.pruned; });
  row.seeds = study.seeds;
  row.members = runs.tuned.size();
  row.diverged = static_cast<std::size_t>(std::count_if(runs.tuned.begin(), runs.tuned.end(),  //
                                                        failed));

  const Run* best = best_of_grid(runs);
  const Run* chosen = !runs.measured.empty() ? &runs.measured.front() : best;
  if (chosen != nullptr) {
    row.options = chosen->options;
    row.edge = edges(runs, row.options);
    row.state_bytes = chosen->state_bytes;
  }
  if (best != nullptr) row.tuned_loss = min_loss(*best);
  fill_measured(row, task, runs.measured);
  const std::vector<double> worth = worth_of_grid(runs.tuned);
  row.best_of = best_of(worth, draw_sizes(worth.size()));

  row.rho_seeds.resize(row.seeds.size());
  if (baseline == nullptr || runs.baseline) return row;
  const Run* baseline_best = best_of_grid(*baseline);
  if (baseline_best == nullptr && !baseline->tuned.empty()) return row;
  fill_rho(row, runs.measured, baseline->measured);
  if (baseline_best == nullptr) return row;
  row.rho_tuned = relative_gain(min_loss(*baseline_best), row.tuned_loss);
  fill_budget(row, runs.tuned, baseline->tuned, budget);
  return row;
}

std::vector<Row> compare(const StudyRuns& study) {
  std::vector<Row> rows;
  for (const TaskRuns& task : study.tasks) {
    const OptimizerRuns* baseline = nullptr;
    for (const OptimizerRuns& runs : task.optimizers) {
      if (!runs.baseline) continue;
      if (baseline != nullptr) {
        throw std::invalid_argument(
            fmt::format("Study '{}' has two baselines on {}: '{}' and '{}'; expected one",
                        study.name, task.data, baseline->label, runs.label));
      }
      baseline = &runs;
    }
    std::vector<const OptimizerRuns*> compared;
    for (const OptimizerRuns& runs : task.optimizers) {
      if (!runs.ablation) compared.push_back(&runs);
    }
    const std::size_t budget = baseline != nullptr ? common_budget(compared, *baseline) : 0;
    for (const OptimizerRuns& runs : task.optimizers) {
      rows.push_back(compare(study, task, runs, baseline, budget));
    }
  }
  adjust(rows);
  return rows;
}

void adjust(std::span<Row> rows) {
  for (const bool ablation : {false, true}) {
    std::vector<Row*> family;
    std::vector<std::optional<double>> p;
    for (Row& row : rows) {
      if (row.ablation != ablation) continue;
      family.push_back(&row);
      p.push_back(row.p);
    }
    const auto adjusted = holm(p);
    for (std::size_t i = 0; i < family.size(); ++i) family[i]->p_holm = adjusted[i];
  }
}

OptimizerRuns restricted(const OptimizerRuns& runs, const OptimizerSpec& part) {
  OptimizerRuns own{.label = part.label,
                    .method = part.method,
                    .baseline = part.baseline,
                    .ablation = part.ablation,
                    .grid = {},
                    .tuned = {},
                    .measured = {}};
  const auto kept = [&](const Run& run) { return in_grid(part.grid, run.options); };
  std::copy_if(runs.tuned.begin(), runs.tuned.end(), std::back_inserter(own.tuned), kept);
  std::copy_if(runs.measured.begin(), runs.measured.end(), std::back_inserter(own.measured), kept);
  for (const auto& [name, values] : part.grid) {
    if (values.size() > 1) own.grid.emplace(name, values);
  }
  return own;
}

}  // namespace tandem::study
