// SPDX-License-Identifier: MIT
#include "paper/equal_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "optimizers/text.h"
#include "paper/controls.h"
#include "paper/whole_grids.h"
#include "study/statistics.h"

namespace tandem::paper {
namespace {

using study::Run;

bool learns(const Run& run) {
  const auto alpha = run.options.find("alpha");
  return alpha != run.options.end() && read_number(alpha->second).value_or(0) > 0;
}

bool does_not_learn(const Run& run) { return !learns(run); }

/// A part of an optimizer's grid: its label, and what it is called.
struct Side {
  std::string label;
  std::string name;
  Wanted wanted = any_run;
};

/// Runs that diverged are infinitely bad, so that they are chosen last.
Losses losses_of_side(const study::TaskRuns& task, const Side& side,
                      const std::vector<std::uint64_t>& seeds, const Protocol& protocol) {
  const study::OptimizerRuns* runs = find(task, side.label);
  if (runs == nullptr) return {};
  Losses losses = losses_of(grid_of(*runs, seeds, side.wanted), protocol.report, protocol.epochs);
  for (std::vector<double>& row : losses) {
    for (double& loss : row) {
      if (std::isnan(loss)) loss = std::numeric_limits<double>::infinity();
    }
  }
  return losses;
}

/// A rho for each pair of seeds, with that many settings of each side.
std::vector<double> rhos_of(const Losses& baseline, const Losses& ours, std::size_t theirs,
                            std::size_t own) {
  std::vector<double> rhos;
  for (std::size_t chooser = 0; chooser < baseline.size(); ++chooser) {
    for (std::size_t scorer = 0; scorer < baseline.size(); ++scorer) {
      if (scorer == chooser) continue;
      const double loss = study::median_choice(baseline[chooser], baseline[scorer], theirs);
      const double mine = study::median_choice(ours[chooser], ours[scorer], own);
      rhos.push_back((loss - mine) / loss);
    }
  }
  return rhos;
}

std::optional<double> mean_of(const std::vector<double>& rhos) {
  double sum = 0;
  for (const double rho : rhos) {
    if (!std::isfinite(rho)) return std::nullopt;
    sum += rho;
  }
  if (rhos.empty()) return std::nullopt;
  return sum / static_cast<double>(rhos.size());
}

}  // namespace

std::vector<BudgetRow> equal_budgets(const study::StudySpec& spec, const study::StudyRuns& runs,
                                     const Protocol& protocol) {
  const Side wide{kWideAdam, kWideAdam};
  const Side average{"diag-to", kNoLearning, does_not_learn};
  const std::vector<std::pair<Side, Side>> pairs{
      {{"diag-to", "diag-to"}, wide},
      {{"ro-to", "ro-to"}, wide},
      {{"momentum", "momentum"}, wide},
      {{"diag-to", std::string("diag-to") + kLearning, learns}, average},
      {{"ro-to", std::string("ro-to") + kLearning, learns}, average}};
  const std::vector<std::uint64_t> seeds = seeds_of(runs);
  std::vector<BudgetRow> rows;
  for (const study::TaskSpec& task : spec.tasks) {
    if (task.loss != protocol.loss || task.data_options != protocol.data_options) continue;
    const auto own = std::find_if(runs.tasks.begin(), runs.tasks.end(), [&](const auto& each) {
      return each.name == study::task_name(task);
    });
    if (own == runs.tasks.end()) continue;
    for (const auto& [ours, theirs] : pairs) {
      const Losses losses = losses_of_side(*own, ours, seeds, protocol);
      const Losses baseline = losses_of_side(*own, theirs, seeds, protocol);
      if (losses.empty() || baseline.empty()) continue;
      const std::size_t most = losses.front().size();
      const std::size_t all = baseline.front().size();
      if (most == 0 || all == 0) continue;
      BudgetRow row{.lambda = task.lambda,
                    .optimizer = ours.name,
                    .against = theirs.name,
                    .settings = std::min(most, all)};
      row.rhos = rhos_of(baseline, losses, row.settings, row.settings);
      row.rho = mean_of(row.rhos);
      row.whole = mean_of(rhos_of(baseline, losses, all, most));
      row.diverged = static_cast<std::size_t>(
          std::erase_if(row.rhos, [](double rho) { return !std::isfinite(rho); }));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace tandem::paper
