// SPDX-License-Identifier: MIT
// `tandem paper theory`: the paper's theorems, checked and measured.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/command.h"

namespace tandem::cli {

struct TheoryOptions {
  std::string budget = "quick";  // or "full"
  std::filesystem::path data_dir = {};
  std::filesystem::path out = {};               // folder for files; empty: none
  std::optional<std::size_t> steps = {};        // of every experiment; none: the budget's
  std::optional<std::size_t> repetitions = {};  // the same

  // Constants of one's own: instead of experiments, rates for them and which conditions fail.
  std::optional<double> c = {}, L = {}, D_w = {}, D_G = {}, D_V = {}, D_F = {};
  std::optional<double> gamma = {}, beta = {}, alpha = {}, mu = {};
};

/// Gives an exit code; kInterrupted after Ctrl-C. Throws std::invalid_argument for options that
/// make no sense.
int run_theory(const TheoryOptions& options, const Common& common);

/// Adds the subcommand `theory` to `tandem paper`. `budget` and `data_dir` are the variables of
/// those options of `paper`, so that they may stand before the name and behind it.
void add_theory(CLI::App& paper, std::string& budget, std::filesystem::path& data_dir,
                const Common& common, Job& job);

}  // namespace tandem::cli
