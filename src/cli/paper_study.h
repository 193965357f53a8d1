// SPDX-License-Identifier: MIT
// One study of the paper, run with a bar, as all experiments of `tandem paper` do it.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/progress.h"
#include "store/store.h"
#include "study/results.h"
#include "study/runner.h"

namespace tandem::cli {

/// A line on standard error for those who read along.
void say(Progress& progress, const Common& common, const std::string& text);

/// Its runs when nothing is left to do; none when it was interrupted, which it says: whole units
/// are kept. Throws what the runner throws.
std::optional<study::StudyRuns> run_paper_study(study::StudySpec spec,
                                                const study::RunOptions& options,
                                                store::Store& store, Progress& progress,
                                                const Common& common);

}  // namespace tandem::cli
