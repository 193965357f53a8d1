// SPDX-License-Identifier: MIT
#include "paper/lambda_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "optimizers/text.h"
#include "study/comparison.h"
#include "study/statistics.h"

namespace tandem::paper {
namespace {

using study::OptimizerRuns;
using study::Run;
using study::StudyRuns;
using study::TaskRuns;

[[noreturn]] void refuse(const StudyRuns& study, const std::string& what) {
  throw std::invalid_argument(
      fmt::format("Cannot choose lambda by study '{}': {}", study.name, what));
}

const OptimizerRuns& adam_of(const StudyRuns& study, const TaskRuns& task) {
  for (const OptimizerRuns& optimizer : task.optimizers) {
    if (optimizer.method == "adam") return optimizer;
  }
  refuse(study, fmt::format("no optimizer adam on {}", task.name));
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Calls visit(point) for the epochs that were measured on held-out samples.
template <typename Visit>
void each_validation(const Run& run, const Visit& visit) {
  if (failed(run)) return;
  for (const train::Point& point : run.points) {
    if (point.epoch > 0 && std::isfinite(point.validation_loss)) visit(point);
  }
}

std::optional<double> least_loss(const Run& run) {
  std::optional<double> least;
  each_validation(run, [&](const train::Point& point) {
    least = std::min(least.value_or(point.validation_loss), point.validation_loss);
  });
  return least;
}

std::optional<double> greatest_accuracy(const Run& run) {
  std::optional<double> greatest;
  each_validation(run, [&](const train::Point& point) {
    const auto accuracy = finite(point.validation_accuracy);
    if (accuracy) greatest = std::max(greatest.value_or(*accuracy), *accuracy);
  });
  return greatest;
}

SeedFigures figures(const std::vector<double>& values) {
  const study::Summary summary = study::summarize(values);
  SeedFigures figures{.mean = summary.mean, .deviation = std::nullopt};
  if (summary.standard_error) {
    figures.deviation = *summary.standard_error * std::sqrt(static_cast<double>(values.size()));
  }
  return figures;
}

void fill_tuned(LambdaScore& score, const std::vector<Run>& tuned) {
  for (const Run& run : tuned) {
    each_validation(run, [&](const train::Point& point) {
      if (score.best && score.best->loss <= point.validation_loss) return;
      score.best = ValidationBest{.loss = point.validation_loss,
                                  .accuracy = finite(point.validation_accuracy),
                                  .options = run.options,
                                  .epoch = point.epoch};
    });
    const auto accuracy = greatest_accuracy(run);
    if (accuracy) score.accuracy = std::max(score.accuracy.value_or(*accuracy), *accuracy);
  }
}

void fill_measured(LambdaScore& score, const std::vector<Run>& measured) {
  std::vector<double> losses;
  std::vector<double> accuracies;
  for (const Run& run : measured) {
    score.measured_options = run.options;
    ++score.measured;
    if (failed(run)) ++score.measured_diverged;
    if (const auto loss = least_loss(run)) losses.push_back(*loss);
    if (const auto accuracy = greatest_accuracy(run)) accuracies.push_back(*accuracy);
  }
  score.measured_loss = figures(losses);
  score.measured_accuracy = figures(accuracies);
}

/// Leaves the options that the grid varies.
void keep_tuned(OptionMap& options, const OptimizerRuns& runs) {
  std::erase_if(options, [&](const auto& option) { return !runs.grid.contains(option.first); });
}

LambdaScore score_of(const StudyRuns& study, const TaskRuns& task) {
  const OptimizerRuns& adam = adam_of(study, task);
  LambdaScore score{.lambda = task.lambda};
  fill_tuned(score, adam.tuned);
  fill_measured(score, adam.measured);
  if (score.best) keep_tuned(score.best->options, adam);
  keep_tuned(score.measured_options, adam);
  const bool trained = std::any_of(adam.tuned.begin(), adam.tuned.end(),
                                   [](const Run& run) { return !failed(run); });
  if (trained && !score.best) {
    refuse(study, fmt::format("no validation loss on {}, expected a task with a validation part "
                              "(its key 'validation', or a data set that has one)",
                              task.name));
  }
  return score;
}

LambdaChoice& choice_of(std::vector<LambdaChoice>& choices, const StudyRuns& study,
                        const TaskRuns& task) {
  for (LambdaChoice& choice : choices) {
    if (choice.data == task.data && choice.model == task.model) return choice;
  }
  return choices.emplace_back(
      LambdaChoice{.data = task.data, .model = task.model, .pruned = study.pruned, .scores = {}});
}

/// The first score for which `value` is least; none where no score has one.
template <typename Value>
const LambdaScore* least_by(const std::vector<LambdaScore>& scores, const Value& value) {
  const LambdaScore* least = nullptr;
  for (const LambdaScore& score : scores) {
    const std::optional<double> here = value(score);
    if (here && (least == nullptr || *here < *value(*least))) least = &score;
  }
  return least;
}

void decide(LambdaChoice& choice) {
  const auto lambda_of = [](const LambdaScore* score) {
    return score != nullptr ? std::optional(score->lambda) : std::nullopt;
  };
  const LambdaScore* chosen = least_by(choice.scores, [](const LambdaScore& score) {
    return score.best ? std::optional(score.best->loss) : std::nullopt;
  });
  const LambdaScore* accurate = least_by(choice.scores, [](const LambdaScore& score) {
    return score.accuracy ? std::optional(-*score.accuracy) : std::nullopt;
  });
  if (accurate != nullptr && chosen->accuracy == accurate->accuracy) accurate = chosen;
  choice.chosen = lambda_of(chosen);
  choice.by_accuracy = lambda_of(accurate);
  choice.by_measured = lambda_of(
      least_by(choice.scores, [](const LambdaScore& score) { return score.measured_loss.mean; }));
}

/// A number for each name (FNV-1a), so that data sets draw apart from each other.
std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

std::vector<LambdaChoice> choose_lambda(const StudyRuns& study) {
  if (!study.complete) refuse(study, "it is not complete");
  std::vector<LambdaChoice> choices;
  for (const TaskRuns& task : study.tasks) {
    LambdaChoice& choice = choice_of(choices, study, task);
    for (const LambdaScore& score : choice.scores) {
      if (score.lambda == task.lambda) {
        refuse(study, fmt::format("lambda = {} twice on {}, expected tasks that differ in lambda",
                                  task.lambda, task.data));
      }
    }
    choice.scores.push_back(score_of(study, task));
  }
  for (LambdaChoice& choice : choices) {
    std::sort(choice.scores.begin(), choice.scores.end(),
              [](const LambdaScore& a, const LambdaScore& b) { return a.lambda < b.lambda; });
    decide(choice);
  }
  return choices;
}

LambdaDraws draw_lambdas(std::uint64_t seed, const std::string& data, std::size_t count) {
  Random random(seed, stream_of(data));
  LambdaDraws draws;
  while (draws.values.size() < count) {
    const double draw = random.normal();
    if (draw > 0) {
      draws.values.push_back(read_number(fmt::format("{:.3g}", draw)).value());
    } else {
      ++draws.negative;
    }
  }
  return draws;
}

const std::vector<PaperLambda>& paper_lambdas() {
  static const std::vector<PaperLambda> kLambdas{
      {"smallnorb", 0.001},
      {"covtype", 5e-4},
      {"news20", 0, {0.46, 1.1, 0.034, 0.078, 0.212}},
      {"nsl-kdd", 0, {0.97, 0.023, 0.21, 0.088, 0.39}},
      {"mnist", 0, {1.6, 1.4, 0.034, 0.68, 0.46}},
  };
  return kLambdas;
}

const PaperLambda* paper_lambda(const std::string& data) {
  for (const PaperLambda& lambda : paper_lambdas()) {
    if (lambda.data == data) return &lambda;
  }
  return nullptr;
}

}  // namespace tandem::paper
