// SPDX-License-Identifier: MIT
// The choice of lambda as tables: ours beside the paper's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "paper/lambda_choice.h"
#include "report/table.h"

namespace tandem::paper {

/// What became of one data set.
struct LambdaOutcome {
  std::string data;
  std::optional<LambdaChoice> choice = {};  // none: no data
  std::vector<std::string> needs = {};      // the files it consists of, where it has no data
  std::optional<LambdaDraws> draws = {};    // where 0 was chosen
};

/// A row a data set: the validation loss of each lambda with a star at the least, and the choices.
report::Table lambda_table(const std::vector<LambdaOutcome>& outcomes);
/// A row a data set and lambda: where the least was, and what the measured seeds say.
report::Table lambda_details(const std::vector<LambdaOutcome>& outcomes);
/// The same with every digit, for programs.
report::Table lambda_csv(const std::vector<LambdaOutcome>& outcomes);
/// What the columns mean, and which files are missing; paragraphs of one line each.
std::vector<std::string> lambda_notes(const std::vector<LambdaOutcome>& outcomes,
                                      unsigned long long seed);

}  // namespace tandem::paper
