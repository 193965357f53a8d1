// SPDX-License-Identifier: MIT
// `tandem paper estimators`: the error of estimators with and without A, along one trajectory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace tandem::cli {

struct EstimatorOptions {
  std::string budget = "quick";           // or "full"
  std::string start = "normal";           // or "zeros"
  std::vector<std::string> data = {};     // only these; empty: all
  std::vector<std::string> drivers = {};  // only these; empty: the budget's
  std::filesystem::path data_dir = {};
  std::filesystem::path out = {};          // folder for files; empty: none
  std::optional<std::size_t> epochs = {};  // of every task; none: the budget's
  std::optional<std::size_t> seeds = {};   // the same
};

/// Gives an exit code: kInterrupted after Ctrl-C, kData where no data set was there. Throws
/// std::invalid_argument for options that make no sense.
int run_estimators(const EstimatorOptions& options, const Common& common);

/// Adds the subcommand `estimators` to `tandem paper`. `budget` and `data_dir` are the variables of
/// those options of `paper`, so that they may stand before the name and behind it.
void add_estimators(CLI::App& paper, std::string& budget, std::filesystem::path& data_dir,
                    const Common& common, Job& job);

}  // namespace tandem::cli
