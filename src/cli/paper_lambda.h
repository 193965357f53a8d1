// SPDX-License-Identifier: MIT
// `tandem paper lambda`: the paper's choice of lambda by validation.
#pragma once

#include "cli/command.h"
#include "cli/paper_study.h"
#include "paper/experiments.h"

namespace tandem::cli {

/// Runs the experiment's studies and shows what they choose; an exit code. The draws where 0 is
/// chosen are those of common.seed. Throws std::invalid_argument for a data set that the experiment
/// does not have.
int run_lambda(const paper::PaperExperiment& experiment, const PaperOptions& options,
               const Common& common);

}  // namespace tandem::cli
