// SPDX-License-Identifier: MIT
// The paper's central claim, measured: how far estimators are from the full gradient.
//
// One optimizer, the driver, moves the weights. All estimators see the weights w_t and mini-batch
// gradients g_t of this one trajectory, keep A and b of their own,
//
//   r = g - (A w + b);  A += alpha r w^T;  b += beta r;  G = A w + b,
//
// and move nothing, so that no step size confounds the comparison.
#pragma once

#include <tandem/problem.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace tandem::paper {

/// A trainable rule with constant rates; of the rule, only its estimator counts.
struct EstimatorSetting {
  std::string rule;  // "full-to", "diag-to", "ro-to"
  double alpha = 0;
  double beta = 0;

  bool operator==(const EstimatorSetting&) const = default;
};

struct EstimatorGrid {
  std::vector<std::string> rules;
  std::vector<double> alphas;  // above 0
  std::vector<double> betas;
};

/// Every combination, after those with alpha = 0, which are there once: with A = 0 all rules are the
/// same average of gradients.
std::vector<EstimatorSetting> settings_of(const EstimatorGrid& grid);

struct TrajectoryOptions {
  std::size_t batch = 64;
  std::size_t epochs = 5;
  /// Measured steps of an epoch, each of which costs a full gradient: the last of each of so many
  /// equal parts.
  std::size_t points = 20;
  std::uint64_t seed = 1;  // of the start and of the order of the samples, as in training
  train::Init init = train::Init::normal;
  /// Called between measured steps; false stops the run, which throws train::Interrupted.
  std::function<bool()> proceed = {};
};

/// Sums over the measured steps of one epoch.
struct EpochErrors {
  double gradient = 0;             // |grad F|^2
  double batch = 0;                // |g - grad F|^2
  std::vector<double> estimators;  // |G - grad F|^2 of each setting; infinite once it has diverged
};

struct TrajectoryErrors {
  std::vector<EpochErrors> epochs;
  std::vector<float> weights;  // where the driver ended
};

/// Steps like train::Trainer, to the bit; grad F and g have lambda's part. Works on the calling
/// thread alone, so that trajectories can run side by side. Throws std::invalid_argument for options
/// and settings that cannot be, and std::runtime_error where the driver diverges.
TrajectoryErrors measure_trajectory(const Problem& problem, const train::Setting& driver,
                                    const std::vector<EstimatorSetting>& settings,
                                    const TrajectoryOptions& options);

}  // namespace tandem::paper
