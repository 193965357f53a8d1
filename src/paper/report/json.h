// SPDX-License-Identifier: MIT
// What `tandem paper --json` prints of the theorems and of the choice of lambda.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "paper/report/lambda_tables.h"
#include "paper/report/theory_report.h"
#include "paper/theory.h"

namespace tandem::paper {

/// Facts, rates, conditions and bounds. What is infinite is null.
nlohmann::ordered_json constants_json(const theory::Facts& facts, const theory::Rates& rates);

/// Lines of one experiment: its constants, each method, the controls.
std::vector<nlohmann::ordered_json> theory_events(const TheoryRun& run, std::size_t repetitions);

/// The line of a data set that has a choice. `seed` is that of the draws.
nlohmann::ordered_json lambda_event(const LambdaOutcome& outcome, const std::string& budget,
                                    unsigned long long seed);

}  // namespace tandem::paper
