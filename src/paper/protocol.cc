// SPDX-License-Identifier: MIT
#include "paper/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "optimizers/text.h"
#include "paper/whole_grids.h"

namespace tandem::paper {
namespace {

using study::OptimizerRuns;
using study::OptimizerSpec;
using study::ReportLoss;
using study::Run;
using study::StudyRuns;
using study::StudySpec;
using study::TaskRuns;
using study::TaskSpec;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastToRate = 1e-3;
constexpr double kMostAdamRate = 5e-3;

/// The column of the least mean over the seeds, of those that none diverged on.
std::optional<std::size_t> best_of_all(const Losses& losses) {
  std::vector<double> means(losses.front().size(), 0);
  for (const std::vector<double>& row : losses) {
    for (std::size_t i = 0; i < row.size(); ++i) means[i] += row[i];
  }
  return best_of(means);
}

ProtocolCell cell_of(const PaperCell& paper, const Losses& baseline, const Losses& ours,
                     Selection selection) {
  ProtocolCell cell{.optimizer = paper.optimizer, .lambda = paper.lambda, .paper = *paper.rho};
  const auto score = [&](std::optional<std::size_t> theirs, std::optional<std::size_t> own,
                         std::size_t seed) {
    const double loss = theirs ? baseline[seed][*theirs] : kNone;
    const double rho = own ? (loss - ours[seed][*own]) / loss : kNone;
    if (std::isfinite(rho)) {
      cell.rhos.push_back(rho);
    } else {
      ++cell.diverged;
    }
  };
  if (selection == Selection::all_seeds) {
    const auto theirs = best_of_all(baseline);
    const auto own = best_of_all(ours);
    for (std::size_t seed = 0; seed < baseline.size(); ++seed) score(theirs, own, seed);
  } else {
    for (std::size_t chooser = 0; chooser < baseline.size(); ++chooser) {
      const auto theirs = best_of(baseline[chooser]);
      const auto own = best_of(ours[chooser]);
      for (std::size_t seed = 0; seed < baseline.size(); ++seed) {
        if (seed != chooser) score(theirs, own, seed);
      }
    }
  }
  if (cell.rhos.empty()) return cell;
  double sum = 0;
  for (const double rho : cell.rhos) sum += rho;
  cell.rho = sum / static_cast<double>(cell.rhos.size());
  return cell;
}

void finish(ProtocolScore& score) {
  double squares = 0;
  for (const ProtocolCell& cell : score.cells) {
    const double off = cell.rho.value_or(0) - cell.paper;
    squares += off * off;
    score.same_sign += cell.rho && *cell.rho * cell.paper > 0 ? 1 : 0;
  }
  score.distance = std::sqrt(squares / static_cast<double>(score.cells.size()));
}

const OptimizerRuns& baseline_of(const TaskRuns& task) {
  for (const OptimizerRuns& runs : task.optimizers) {
    if (runs.baseline) return runs;
  }
  throw std::invalid_argument(fmt::format("{}: there is no baseline", task.name));
}

/// Which tasks differ in lambda alone.
std::string key_of(const TaskSpec& task) {
  TaskSpec any = task;
  any.lambda = 0;
  return study::task_name(any);
}

std::vector<std::size_t> epochs_of(const StudyRuns& runs) {
  std::vector<std::size_t> epochs;
  for (const std::size_t some : {1, 2, 3, 5, 10, 20, 50}) {
    if (some < runs.epochs) epochs.push_back(some);
  }
  epochs.push_back(runs.epochs);
  return epochs;
}

/// What one column of the paper is compared with.
struct Column {
  std::string label;  // of our optimizer
  std::string paper;  // of the paper's
  Wanted wanted = any_run;
};

/// Adds the cells of one task to the scores of each protocol. The scores stand in the order of
/// `protocols`.
void add_cells(const TaskSpec& spec, const TaskRuns& task, const StudyRuns& runs,
               const std::vector<Column>& columns, std::vector<ProtocolScore>& scores) {
  const std::vector<std::uint64_t> seeds = seeds_of(runs);
  const Grid baseline = grid_of(baseline_of(task), seeds);
  for (const Column& column : columns) {
    const OptimizerRuns* own = find(task, column.label);
    const PaperCell* paper = paper_cell(spec.data, spec.model, spec.lambda, column.paper);
    if (own == nullptr || paper == nullptr || !paper->rho) continue;
    const Grid grid = grid_of(*own, seeds, column.wanted);
    for (ProtocolScore& score : scores) {
      const Protocol& one = score.protocol;
      score.cells.push_back(cell_of(*paper, losses_of(baseline, one.report, one.epochs),
                                    losses_of(grid, one.report, one.epochs), one.selection));
    }
  }
}

void check(const StudySpec& spec) {
  if (spec.measure_all) return;
  throw std::invalid_argument(fmt::format(
      "Study '{}' measures the best settings alone, expected measure = \"all\"", spec.name));
}

/// The task of the spec, by its name.
const TaskSpec& spec_of(const StudySpec& spec, const TaskRuns& task) {
  for (const TaskSpec& each : spec.tasks) {
    if (study::task_name(each) == task.name) return each;
  }
  throw std::invalid_argument(fmt::format("Study '{}' has no task '{}'", spec.name, task.name));
}

bool nearer(const ProtocolScore& a, const ProtocolScore& b) { return a.distance < b.distance; }

}  // namespace

std::vector<ProtocolScore> score_protocols(const StudySpec& spec, const StudyRuns& runs) {
  check(spec);
  std::map<std::string, std::vector<ProtocolScore>> by_key;
  for (const TaskRuns& task : runs.tasks) {
    const TaskSpec& own = spec_of(spec, task);
    std::vector<ProtocolScore>& scores = by_key[key_of(own)];
    if (scores.empty()) {
      for (const ReportLoss report : {ReportLoss::total, ReportLoss::data}) {
        for (const std::size_t epochs : epochs_of(runs)) {
          for (const Selection selection : {Selection::one_seed, Selection::all_seeds}) {
            scores.push_back({.data = own.data,
                              .protocol = {.loss = own.loss,
                                           .data_options = own.data_options,
                                           .report = report,
                                           .epochs = epochs,
                                           .selection = selection}});
          }
        }
      }
    }
    add_cells(own, task, runs, {{"full-to", "full-to"}, {"diag-to", "diag-to"}, {"ro-to", "ro-to"}},
              scores);
  }
  std::vector<ProtocolScore> all;
  for (auto& [key, scores] : by_key) {
    for (ProtocolScore& score : scores) {
      if (score.cells.empty()) continue;
      finish(score);
      all.push_back(std::move(score));
    }
  }
  std::stable_sort(all.begin(), all.end(), nearer);
  return all;
}

Agreement agreement(const ProtocolCell& cell) {
  if (!cell.rho) return Agreement::none;
  const auto [least, most] = std::minmax_element(cell.rhos.begin(), cell.rhos.end());
  if (least != cell.rhos.end() && *least <= cell.paper && cell.paper <= *most) {
    return Agreement::within_seeds;
  }
  return *cell.rho * cell.paper > 0 ? Agreement::same_sign : Agreement::none;
}

double distance_of_zeros(const ProtocolScore& score) {
  ProtocolScore zeros{.data = score.data, .protocol = score.protocol, .cells = score.cells};
  for (ProtocolCell& cell : zeros.cells) cell.rho.reset();
  finish(zeros);
  return zeros.distance;
}

std::vector<JointScore> joint_scores(const std::vector<std::vector<ProtocolScore>>& by_data) {
  const auto less = [](const Protocol& a, const Protocol& b) {
    const auto fields = [](const Protocol& one) {
      return std::tie(one.loss, one.data_options, one.report, one.epochs, one.selection);
    };
    return fields(a) < fields(b);
  };
  std::map<Protocol, std::vector<double>, decltype(less)> shares(less);
  for (const auto& scores : by_data) {
    for (const ProtocolScore& score : scores) {
      shares[score.protocol].push_back(score.distance / distance_of_zeros(score));
    }
  }
  std::vector<JointScore> all;
  for (auto& [protocol, each] : shares) {
    if (each.size() < by_data.size()) continue;
    double squares = 0;
    for (const double share : each) squares += share * share;
    const double joint = std::sqrt(squares / static_cast<double>(each.size()));
    all.push_back({protocol, std::move(each), joint});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const JointScore& a, const JointScore& b) { return a.joint < b.joint; });
  return all;
}

std::optional<OrderTest> order_test(const std::vector<ProtocolScore>& scores) {
  if (scores.empty()) return std::nullopt;
  std::vector<double> lambdas;
  std::map<std::pair<std::string, double>, double> paper;
  for (const ProtocolCell& cell : scores.front().cells) {
    if (std::find(lambdas.begin(), lambdas.end(), cell.lambda) == lambdas.end()) {
      lambdas.push_back(cell.lambda);
    }
    paper[{cell.optimizer, cell.lambda}] = cell.paper;
  }
  if (lambdas.size() < 3) return std::nullopt;
  constexpr std::size_t kMost = 6;
  if (lambdas.size() > kMost) {
    throw std::invalid_argument(fmt::format(
        "Found {} lambdas to put into every order, expected at most {}", lambdas.size(), kMost));
  }
  std::vector<std::size_t> order(lambdas.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  OrderTest test;
  do {
    double least = std::numeric_limits<double>::infinity();
    for (ProtocolScore score : scores) {
      for (ProtocolCell& cell : score.cells) {
        const auto place = static_cast<std::size_t>(
            std::find(lambdas.begin(), lambdas.end(), cell.lambda) - lambdas.begin());
        const auto other = paper.find({cell.optimizer, lambdas[order[place]]});
        if (other != paper.end()) cell.paper = other->second;
      }
      finish(score);
      least = std::min(least, score.distance);
    }
    ++test.orders;
    test.as_near += least <= scores.front().distance ? 1 : 0;
  } while (std::next_permutation(order.begin(), order.end()));
  return test;
}

std::vector<MomentumScore> score_momentum(const StudySpec& spec, const StudyRuns& runs,
                                          const Protocol& protocol) {
  check(spec);
  const auto rate_of = [](const Run& run) {
    const auto lr = run.options.find("lr");
    return lr == run.options.end() ? kNone : read_number(lr->second).value_or(kNone);
  };
  const std::vector<std::pair<std::string, Wanted>> grids{
      {"TO's rates", [&](const Run& run) { return rate_of(run) >= kLeastToRate; }},
      {"Adam's rates", [&](const Run& run) { return rate_of(run) <= kMostAdamRate; }}};
  std::vector<MomentumScore> all;
  for (const OptimizerSpec& optimizer : spec.optimizers) {
    if (optimizer.method != "momentum" && optimizer.method != "nesterov") continue;
    for (const auto& [name, wanted] : grids) {
      std::vector<ProtocolScore> scores(1);
      for (const TaskRuns& task : runs.tasks) {
        const TaskSpec& own = spec_of(spec, task);
        if (own.loss != protocol.loss || own.data_options != protocol.data_options) continue;
        scores.front().data = own.data;
        scores.front().protocol = protocol;
        add_cells(own, task, runs, {{optimizer.label, "momentum", wanted}}, scores);
      }
      if (scores.front().cells.empty()) continue;
      finish(scores.front());
      all.push_back({optimizer.label, name, std::move(scores.front())});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const MomentumScore& a, const MomentumScore& b) {
    return nearer(a.score, b.score);
  });
  return all;
}

StudySpec quick_protocol(StudySpec spec) {
  spec.name += "-quick";
  spec.epochs = std::min<std::size_t>(spec.epochs, 3);
  std::vector<TaskSpec> few;
  std::map<std::string, std::size_t> seen;
  for (const TaskSpec& task : spec.tasks) {
    if (++seen[key_of(task)] <= 2) few.push_back(task);
  }
  spec.tasks = std::move(few);
  for (OptimizerSpec& optimizer : spec.optimizers) {
    for (auto& [name, values] : optimizer.grid) {
      // Every third rate; of the others the first and the third.
      std::vector<std::string> kept;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (name == "lr" ? i % 3 == 2 : i == 0 || i == 2) kept.push_back(values[i]);
      }
      if (!kept.empty()) values = kept;
    }
  }
  return spec;
}

}  // namespace tandem::paper
