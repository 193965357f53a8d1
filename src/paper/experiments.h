// SPDX-License-Identifier: MIT
// The paper's experiments: which studies they are, and what its tables say.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "study/study_file.h"

namespace tandem::paper {

/// One cell of the paper's tables of rho.
struct PaperCell {
  std::string data;  // as our recipes call it
  std::string model;
  double lambda = 0;
  std::string optimizer;
  std::optional<double> rho = {};  // none: N/A
  char mark = 0;                   // '+', '~', '-'; 0 where the paper gives none
};

/// Tables 2 and 7 (strongly convex), and Table 4 (nets, and a Llama).
const std::vector<PaperCell>& paper_cells();
/// Null where the paper has no such cell.
const PaperCell* paper_cell(const std::string& data, const std::string& model, double lambda,
                            const std::string& optimizer);

struct PaperExperiment {
  std::string name;
  std::string what;
  std::vector<std::string> studies = {};  // of builtin_studies(); empty where it is not one
};
const std::vector<PaperExperiment>& paper_experiments();

/// The same in minutes: fewer epochs and seeds, grids pruned by successive halving, and Full-TO on
/// a quarter of its settings; deep models on a part of the data, with the whole grid. Under another
/// name, so that one store holds both.
study::StudySpec quick(study::StudySpec study);

/// The same from weights of zero: part of what a trainable optimizer learns is to forget a random
/// start. Full-TO has the paper's alphas there, because |w| stays small. Throws
/// std::invalid_argument for a net, which does not learn from zeros.
study::StudySpec from_zeros(study::StudySpec study);

/// The same with another loss, under another name. Throws std::invalid_argument for a deep model.
study::StudySpec with_loss(study::StudySpec study, problems::Loss loss);

/// The same with an option of its data sets, under another name. Throws std::invalid_argument for a
/// value that cannot be in a file's name.
study::StudySpec with_data_option(study::StudySpec study, const std::string& name,
                                  const std::string& value);

/// The same with another number of epochs, one or more, under another name.
study::StudySpec with_epochs(study::StudySpec study, std::size_t epochs);

/// Table 3: bytes of state.
struct MemoryCell {
  std::string task;
  std::size_t dimension = 0;
  std::string optimizer;
  std::string paper;         // as it is printed
  std::size_t computed = 0;  // from the number of weights
  std::optional<std::size_t> live =
      {};                     // of an optimizer that made a step; none where it is too large
  std::size_t workspace = 0;  // of that one, beyond the state
};
/// Optimizers whose state is more than `limit` bytes are not made.
std::vector<MemoryCell> memory_table(std::size_t limit);

}  // namespace tandem::paper
