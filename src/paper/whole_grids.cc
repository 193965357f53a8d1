// SPDX-License-Identifier: MIT
#include "paper/whole_grids.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tandem::paper {
namespace {

using study::Run;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double least_loss(const Run& run, study::ReportLoss report, std::size_t epochs) {
  double least = kNone;
  std::size_t last = 0;
  for (const train::Point& point : run.points) {
    if (point.epoch == 0 || point.epoch > epochs) continue;
    const double loss = report == study::ReportLoss::data ? point.data_loss : point.train_loss;
    least = std::isnan(least) ? loss : std::min(least, loss);
    last = point.epoch;
  }
  return last == epochs ? least : kNone;
}

}  // namespace

bool any_run(const Run&) { return true; }

Grid grid_of(const study::OptimizerRuns& runs, const std::vector<std::uint64_t>& seeds,
             const Wanted& wanted) {
  std::map<OptionMap, std::size_t> columns;
  for (const Run& run : runs.tuned) {
    if (wanted(run)) columns.emplace(run.options, columns.size());
  }
  Grid grid(seeds.size(), std::vector<const Run*>(columns.size(), nullptr));
  for (const auto* list : {&runs.tuned, &runs.measured, &runs.others}) {
    for (const Run& run : *list) {
      const auto column = columns.find(run.options);
      const auto seed = std::find(seeds.begin(), seeds.end(), run.seed);
      if (column == columns.end() || seed == seeds.end()) continue;
      grid[static_cast<std::size_t>(seed - seeds.begin())][column->second] = &run;
    }
  }
  return grid;
}

Losses losses_of(const Grid& grid, study::ReportLoss report, std::size_t epochs) {
  Losses losses;
  for (const auto& row : grid) {
    std::vector<double>& values = losses.emplace_back();
    for (const Run* run : row) {
      values.push_back(run != nullptr ? least_loss(*run, report, epochs) : kNone);
    }
  }
  return losses;
}

std::optional<std::size_t> best_of(const std::vector<double>& losses) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (std::isnan(losses[i])) continue;
    if (!best || losses[i] < losses[*best]) best = i;
  }
  return best;
}

std::vector<std::uint64_t> seeds_of(const study::StudyRuns& runs) {
  std::vector<std::uint64_t> seeds{runs.tune_seed};
  seeds.insert(seeds.end(), runs.seeds.begin(), runs.seeds.end());
  return seeds;
}

const study::OptimizerRuns* find(const study::TaskRuns& task, const std::string& label) {
  for (const study::OptimizerRuns& runs : task.optimizers) {
    if (runs.label == label) return &runs;
  }
  return nullptr;
}

}  // namespace tandem::paper
