// SPDX-License-Identifier: MIT
// The check that a data set has what most problems are made of.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

#include "data/dataset.h"

namespace tandem::problems {

/// Throws std::invalid_argument for a data set of texts.
inline void require_features(const data::Dataset& data) {
  if (data.texts.empty()) return;
  throw std::invalid_argument(fmt::format(
      "The data set '{}' has texts, not features: it goes with --model llama:CHECKPOINT",
      data.name));
}

}  // namespace tandem::problems
