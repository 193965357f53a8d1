// SPDX-License-Identifier: MIT
// One study of the paper, run with a bar, as all experiments of `tandem paper` do it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "paper/experiments.h"
#include "store/store.h"
#include "study/results.h"
#include "study/runner.h"

namespace tandem::cli {

/// Options of `tandem paper`.
struct PaperOptions {
  std::string name = {};                       // of the experiment
  std::string budget = "quick";                // or "full"
  std::string start = "normal";                // or "zeros"
  std::string loss = "cross-entropy";          // or "double-softmax"
  std::string report_loss = "total";           // or "data"
  std::vector<std::string> data = {};          // only these; empty: all of the experiment
  std::vector<std::string> data_options = {};  // name=value, of all data sets
  std::size_t epochs = 0;                      // 0: the experiment's
  std::filesystem::path store = "paper.db";
  std::filesystem::path data_dir = {};
  std::filesystem::path out = {};  // folder for results; empty: none are written
  bool only_static = false;        // without the page to explore
  std::size_t memory = 0;          // MiB; 0: three quarters of what is free
};

/// The command that these options are, to be typed again; stores and folders are the reader's own.
std::string command_text(const PaperOptions& options, const Common& common);

/// What the page of these options is called, without its ending: it is named after what is in it.
std::string page_name(const PaperOptions& options);

/// The studies of an experiment that the options ask for, with their start and budget. Throws
/// std::invalid_argument for a data set that the experiment does not have.
std::vector<study::StudySpec> wanted_studies(const paper::PaperExperiment& experiment,
                                             const PaperOptions& options);

/// Makes the folder of results: before hours of work, not after them. Nothing for an empty path;
/// throws std::invalid_argument where it cannot be made.
void make_out_folder(const std::filesystem::path& out);

/// Throws std::invalid_argument for given options of `paper` that mean nothing to an experiment
/// which is a subcommand: they would be ignored in silence.
void refuse_options_beside(const CLI::App& paper, const std::string& name);

/// A line on standard error for those who read along.
void say(Progress& progress, const Common& common, const std::string& text);

/// Its runs when nothing is left to do; none when it was interrupted, which it says: whole units
/// are kept. Throws what the runner throws.
std::optional<study::StudyRuns> run_paper_study(study::StudySpec spec,
                                                const study::RunOptions& options,
                                                store::Store& store, Progress& progress,
                                                const Common& common,
                                                study::ReportLoss loss = study::ReportLoss::total);

}  // namespace tandem::cli
