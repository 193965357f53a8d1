// SPDX-License-Identifier: MIT
// The paper's experiments as tables and files: ours beside the paper's, the controls, raw rows.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "report/table.h"
#include "study/comparison.h"
#include "study/results.h"

namespace tandem::paper {

/// A line a task, a column an optimizer: rho x 1e3 and its mark, the paper's behind it in brackets
/// where it has one. `missing`: tasks without data.
report::Table beside_paper(const std::vector<study::Row>& rows,
                           const std::vector<std::string>& missing);

/// Rho against a control, with its mark, interval, p after Holm, and at an equal number of
/// settings.
report::Table control_table(const std::vector<study::Row>& rows);

/// What tuning chose for each task and optimizer; ! marks a value at an end of its grid.
report::Table chosen_table(const std::vector<study::StudyRuns>& studies);

/// Rho on the tuning seed by the number of epochs, the paper's behind it.
report::Table epochs_table(const std::vector<study::StudyRuns>& studies);

/// One experiment with what is to be said of it.
struct PaperResults {
  std::string title;
  std::string command;       // reproduces it
  std::string note;          // what a reader must know; may be empty
  std::string suffix = {};   // of files of a study, where another view of it has files of its own
  bool only_static = false;  // without the page to explore
  std::vector<study::StudyRuns> studies;
  std::vector<std::pair<std::string, std::string>> missing;  // study, why it has no data
};

/// Work that a study's runs were, from their own clocks.
struct Effort {
  std::size_t members = 0;  // on the tuning seed
  std::size_t runs = 0;     // that measure
  double member_epochs = 0;
  double seconds = 0;  // of training, without evaluation
};
Effort effort_of(const study::StudyRuns& study);

/// A figure in a file, relative to the page.
struct Link {
  std::string title;
  std::string path;
};

/// A page of Markdown. `interactive` is the path of the same to explore; empty: there is none.
std::string paper_page(const PaperResults& results, const std::vector<Link>& figures,
                       const std::string& interactive = {});

/// NAME.md, NAME.html where the program has the front end, and for each study STUDY-runs.csv.gz
/// (every epoch of every measured run), STUDY-grid.csv.gz (a line a setting on the tuning seed) and,
/// where gnuplot is there, its figures. The folder is made. Returns the page's path.
std::filesystem::path write_paper(const std::filesystem::path& folder, const std::string& name,
                                  const PaperResults& results);

}  // namespace tandem::paper
