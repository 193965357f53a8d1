// SPDX-License-Identifier: MIT
// The paper's choice of lambda: the one with the best validation under Adam; where that is 0, random
// ones instead.
#pragma once

#include <tandem/registry.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/results.h"

namespace tandem::paper {

/// The epoch of a setting with the least validation loss, on the tuning seed.
struct ValidationBest {
  double loss = 0;  // cross entropy alone, so that values of different lambdas compare
  std::optional<double> accuracy = {};  // there; none where the model does not classify
  OptionMap options = {};               // those that the grid varies
  std::size_t epoch = 0;
};

/// Over the measured seeds that did not diverge, of each its best epoch.
struct SeedFigures {
  std::optional<double> mean;
  std::optional<double> deviation;  // with n - 1; none for fewer than two seeds
};

struct LambdaScore {
  double lambda = 0;
  std::optional<ValidationBest> best = {};  // none where every setting diverged
  std::optional<double> accuracy = {};      // the greatest of all settings and epochs
  /// At the setting that the study measured: the one with the least training loss, which need not
  /// be that of `best`.
  OptionMap measured_options = {};
  std::size_t measured = 0;  // seeds
  std::size_t measured_diverged = 0;
  SeedFigures measured_loss = {};
  SeedFigures measured_accuracy = {};
};

struct LambdaChoice {
  std::string data;
  std::string model;
  bool pruned = false;              // settings left early, by their training loss
  std::vector<LambdaScore> scores;  // by rising lambda
  /// With the least validation loss; the least of those that have it. None if all diverged.
  std::optional<double> chosen = {};
  /// With the greatest accuracy: `chosen` if it is among them, otherwise the least of them.
  std::optional<double> by_accuracy = {};
  /// With the least mean of the measured seeds' validation losses.
  std::optional<double> by_measured = {};
};

/// For each data set and model of the study, by its runs of Adam: every setting's epochs on the
/// tuning seed are candidates, the start is not, nor is a setting that diverged; a pruned one counts
/// as far as it was trained. Throws std::invalid_argument for a study that is not complete, has no
/// runs of Adam, no validation part, or a lambda twice.
std::vector<LambdaChoice> choose_lambda(const study::StudyRuns& study);

struct LambdaDraws {
  std::vector<double> values;  // three significant digits, as the paper prints them
  std::size_t negative = 0;    // that were left out
};

/// Draws of N(0, 1) until `count` are positive; the same for the same seed and data set, whatever
/// else is drawn.
LambdaDraws draw_lambdas(std::uint64_t seed, const std::string& data, std::size_t count = 5);

/// What the paper's table of lambdas says.
struct PaperLambda {
  std::string data;  // as our recipes call it
  double chosen = 0;
  std::vector<double> draws = {};  // where 0 was chosen
};
const std::vector<PaperLambda>& paper_lambdas();
/// Null for a data set that the paper does not have.
const PaperLambda* paper_lambda(const std::string& data);

}  // namespace tandem::paper
