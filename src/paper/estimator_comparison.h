// SPDX-License-Identifier: MIT
// Which setting of an estimator is best, and what learning A contributes: alpha > 0 against
// alpha = 0, each at the setting that the other seeds choose.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "paper/estimator_error.h"
#include "study/statistics.h"

namespace tandem::paper {

/// The best of some settings. A ratio is |G - grad F|^2 / |g - grad F|^2, both summed up over the
/// measured steps.
struct BestEstimator {
  EstimatorSetting setting;    // with the least mean of log ratios over all seeds
  std::size_t agreeing = 0;    // seeds whose others choose the same
  std::size_t diverged = 0;    // seeds on which what the others choose diverges
  bool alpha_at_edge = false;  // of the alphas that there are
  bool beta_at_edge = false;
  /// Geometric mean over the seeds, each at the setting that the others choose; none where one
  /// diverged.
  std::optional<double> ratio = {};
};

struct EstimatorComparison {
  std::string rule;
  std::optional<std::size_t> epoch = {};  // from 1; none: all of them
  std::size_t seeds = 0;
  /// |grad F|^2 / |g - grad F|^2, geometric mean: what an estimate of 0 would have.
  double gradient = 0;
  BestEstimator without = {};  // alpha = 0
  BestEstimator with = {};     // alpha > 0
  /// Of the log of the two ratios' quotient on each seed: below 0 where learning A helps. Without a
  /// mean where one of them diverged.
  study::Summary log_quotient = {};
};

/// For each rule that has settings with alpha > 0: all epochs together, then each of them. `seeds`
/// are the errors of `settings` on trajectories of one driver. Throws std::invalid_argument for
/// fewer than 2 seeds, or without settings with alpha = 0.
std::vector<EstimatorComparison> compare_estimators(const std::vector<EstimatorSetting>& settings,
                                                    const std::vector<TrajectoryErrors>& seeds);

/// The best beta of one alpha, over all epochs and seeds.
struct AlphaProfile {
  EstimatorSetting setting;
  std::optional<double> ratio = {};  // geometric mean; none where it diverges on a seed
};
/// For each rule and alpha, in the order of the settings.
std::vector<AlphaProfile> profile_alphas(const std::vector<EstimatorSetting>& settings,
                                         const std::vector<TrajectoryErrors>& seeds);

}  // namespace tandem::paper
