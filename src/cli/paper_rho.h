// SPDX-License-Identifier: MIT
// Experiments of the paper that compare optimizers by rho: runs their studies and shows ours beside
// the paper's.
#pragma once

#include "cli/command.h"
#include "cli/paper_study.h"
#include "paper/experiments.h"

namespace tandem::cli {

int run_rho(const paper::PaperExperiment& experiment, const PaperOptions& options,
            const Common& common);

}  // namespace tandem::cli
