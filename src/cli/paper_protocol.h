// SPDX-License-Identifier: MIT
// `tandem paper protocol`: the search for how the paper ran its experiments.
#pragma once

#include "cli/command.h"
#include "cli/paper_study.h"
#include "paper/experiments.h"

namespace tandem::cli {

/// Runs the experiment's studies and shows which protocols come near the paper's cells; an exit
/// code. Throws std::invalid_argument for options that mean nothing here.
int run_protocol(const paper::PaperExperiment& experiment, const PaperOptions& options,
                 const Common& common);

}  // namespace tandem::cli
