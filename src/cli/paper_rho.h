// SPDX-License-Identifier: MIT
// Experiments of the paper that compare optimizers by rho: runs their studies and shows ours beside
// the paper's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "study/paper.h"

namespace tandem::cli {

struct PaperOptions {
  std::string name;
  std::string budget = "quick";
  std::string start = "normal";
  std::vector<std::string> data;  // only these
  std::filesystem::path store = "paper.db";
  std::filesystem::path data_dir;
  std::filesystem::path out;  // folder of results; empty: none
  std::size_t memory = 0;     // MiB
};

int run_rho(const study::PaperExperiment& experiment, const PaperOptions& options,
            const Common& common);

}  // namespace tandem::cli
