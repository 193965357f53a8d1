// SPDX-License-Identifier: MIT
// `tandem paper lambda`: the paper's choice of lambda by validation.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "study/paper.h"

namespace tandem::cli {

struct LambdaOptions {
  std::string budget = "quick";        // or "full"
  std::vector<std::string> data = {};  // only these; empty: all of the experiment
  std::filesystem::path store = "paper.db";
  std::filesystem::path data_dir = {};
  std::size_t memory = 0;          // MiB; 0: three quarters of what is free
  std::filesystem::path out = {};  // folder for lambda.md and lambda.csv; empty: none are written
};

/// Runs the experiment's studies and shows what they choose; an exit code. The draws where 0 is
/// chosen are those of common.seed. Throws std::invalid_argument for a data set that the experiment
/// does not have.
int run_lambda(const study::PaperExperiment& experiment, const LambdaOptions& options,
               const Common& common);

}  // namespace tandem::cli
