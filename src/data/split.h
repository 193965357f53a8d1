// SPDX-License-Identifier: MIT
// Holding out rows: which ones, and a data set cut in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace tandem::data {

struct Split {
  std::vector<std::size_t> train;       // ascending
  std::vector<std::size_t> validation;  // ascending; a random choice
};

/// Holds out a fraction of the rows, none for 0. Throws std::invalid_argument unless 0 <= fraction
/// < 1 and both parts get rows.
Split split_rows(std::size_t rows, double fraction, std::uint64_t seed);

/// These rows of a data set, under the same name.
Dataset take_rows(const Dataset& data, std::span<const std::size_t> rows);

}  // namespace tandem::data
