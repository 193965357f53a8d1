// SPDX-License-Identifier: MIT
// Models by name.
#pragma once

#include <tandem/problem.h>

#include <memory>
#include <string>

#include "data/dataset.h"

namespace tandem::problems {

/// "logistic", or "ffn:100" and "ffn:100,50" for hidden layers. Throws std::invalid_argument for
/// anything else.
std::unique_ptr<Problem> make_problem(const std::string& model,
                                      std::shared_ptr<const data::Task> task, double lambda);

}  // namespace tandem::problems
