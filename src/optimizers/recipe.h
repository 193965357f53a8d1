// SPDX-License-Identifier: MIT
// A rule as data: an estimator, a scaling and an update. Every optimizer class is a function from
// its options to a recipe.
#pragma once

#include <tandem/optimizer.h>
#include <tandem/options.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/pass.h"

namespace tandem::detail {

/// G = g.
struct IdentitySpec {};

/// m' = keep m + take g;  G = out_new m' + out_old m + out_g g.
struct AverageCoefficients {
  double keep = 0;
  double take = 1;
  double out_new = 1;
  double out_old = 0;
  double out_g = 0;
};

/// The coefficients, constant or moved from step to step.
struct AverageSpec {
  AverageCoefficients constant = {};
  bool correct = false;  // out_new over 1 - keep^t
  /// Coefficients of a step, from the constant ones; may read and move the rule's carried scalars.
  std::function<AverageCoefficients(const Clock& clock, std::span<double> carried)> moving = {};
};

/// G = A w + b, trained; what A may be is its structure.
struct TrainableSpec {
  enum class Structure { diagonal, rank_one, block, full };

  Structure structure = Structure::diagonal;
  Schedule alpha = 0;
  Schedule beta = 0;
  bool normalize = false;
  double eps = 0;
  // starting values; empty is the default
  std::vector<double> initial_a = {};  // diagonal and rank-one: a; full: A
  std::vector<double> initial_b = {};
  std::vector<double> initial_c = {};  // rank-one
  std::size_t block = 0;
  // full
  bool starts_from_matrix = false;  // initial_a was given; it is let go of once used
  Form form = Form::automatic;
  std::size_t memory_limit = 0;
  std::size_t max_steps = 0;
};

using EstimatorSpec = std::variant<IdentitySpec, AverageSpec, TrainableSpec>;

/// v' = keep v + take g^2; D = G / (sqrt(v' / (1 - keep^t, if corrected)) + eps), or the sign, or
/// nothing.
struct ScalingSpec {
  kernels::ScalingStage stage = kernels::ScalingStage::none;
  double keep = 0;
  double take = 0;
  double eps = 0;
  double initial = 0;
  bool correct = false;
};

/// A number that a rule remembers from step to step beside its arrays.
struct CarriedScalar {
  std::string name;
  double initial = 0;
};

/// How arrays of state are kept.
struct StateStorage {
  StateType type = StateType::full;
  StateRounding rounding = StateRounding::stochastic;
  std::uint64_t seed = 0;

  bool narrow() const { return type == StateType::bfloat16; }
};

struct Recipe {
  std::string name;
  std::vector<SegmentSpec> segments;
  EstimatorSpec estimator;
  ScalingSpec scaling;
  std::vector<CarriedScalar> carried = {};
  StateStorage storage = {};
  // update
  Schedule lr = 0;
  double decay = 1;
  double l2 = 0;
  double weight_decay = 0;
  Projection projection;
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

}  // namespace tandem::detail
