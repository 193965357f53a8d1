// SPDX-License-Identifier: MIT
#include "problems/make_problem.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "problems/softmax.h"

namespace tandem::problems {

std::unique_ptr<Problem> make_problem(const std::string& model,
                                      std::shared_ptr<const data::Task> task, double lambda) {
  if (model == "logistic") return std::make_unique<SoftmaxRegression>(std::move(task), lambda);
  throw std::invalid_argument(
      fmt::format("Unknown model '{}'{}", model, suggestion(model, {"logistic"})));
}

}  // namespace tandem::problems
