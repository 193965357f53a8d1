// SPDX-License-Identifier: MIT
#include "optimizers/state_size.h"

#include <algorithm>
#include <variant>

#include "optimizers/full.h"

namespace tandem::detail {

std::size_t planned_state_bytes(const Recipe& recipe, std::size_t dimension) {
  const std::size_t element = recipe.storage.narrow() ? sizeof(BFloat16) : sizeof(float);
  const std::size_t vector = dimension * element;
  std::size_t bytes = recipe.scaling.stage == kernels::ScalingStage::second_moment ? vector : 0;
  if (std::holds_alternative<AverageSpec>(recipe.estimator)) return bytes + vector;
  const auto* spec = std::get_if<TrainableSpec>(&recipe.estimator);
  if (spec == nullptr) return bytes;
  switch (spec->structure) {
    case TrainableSpec::Structure::diagonal:
      return bytes + 2 * vector;
    case TrainableSpec::Structure::rank_one:
      return bytes + 3 * vector;
    case TrainableSpec::Structure::block: {
      const std::size_t block = std::min(spec->block, dimension);
      const std::size_t last = dimension % block;
      return bytes + vector + (dimension / block * block * block + last * last) * sizeof(float);
    }
    case TrainableSpec::Structure::full:
      if (planned_form(recipe, dimension, sizeof(float)).form == Form::span) return bytes;
      return bytes + dimension * sizeof(float) + dimension * vector;
  }
  return bytes;
}

}  // namespace tandem::detail
