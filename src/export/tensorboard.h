// SPDX-License-Identifier: MIT
// Runs of a store as event files of TensorBoard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "export/runs.h"

namespace tandem::exporting {

struct Exported {
  std::size_t runs = 0;
  std::size_t points = 0;
  std::uintmax_t bytes = 0;
};

/// FOLDER/STUDY/TASK/OPTIMIZER/seed-N of each measured run, .../setting-ID of each setting on the
/// tuning seed, ID being its number in the store; texts about a study are in FOLDER/STUDY. What was
/// exported before is replaced file by file.
Exported export_tensorboard(const store::Store& store, const Selection& selection,
                            const std::filesystem::path& folder);

}  // namespace tandem::exporting
