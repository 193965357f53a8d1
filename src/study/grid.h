// SPDX-License-Identifier: MIT
// Grids of settings: lists of values become every combination of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/trainer.h"

namespace tandem::study {

/// Options in the order in which they vary, the last one fastest.
using Grid = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Options without values are left out.
std::vector<train::Setting> expand(const std::string& method, const Grid& grid);

}  // namespace tandem::study
