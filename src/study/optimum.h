// SPDX-License-Identifier: MIT
// The optimum of softmax regression, F(w) = mean cross entropy + lambda/2 |w|^2, in double
// precision by L-BFGS: what runs in single precision are measured against.
#pragma once

#include <tandem/executor.h>

#include <cstddef>
#include <iosfwd>
#include <vector>

#include "data/dataset.h"

namespace tandem::study {

struct Optimum {
  double loss = 0;              // F(w)
  double gradient_norm = 0;     // |grad F(w)|
  std::vector<double> weights;  // classes x features, as problems::SoftmaxRegression has them
  std::size_t iterations = 0;
  std::size_t evaluations = 0;  // of the full loss and gradient
  /// Whether gradient_norm is as small as it was asked for. If not, rounding allowed no further
  /// progress or iterations ran out; with lambda = 0 a minimum need not exist.
  bool converged = false;
};

/// Starts at zero and stops at |grad F| <= tolerance. By strong convexity F(w) is then above F* by
/// no more than tolerance^2 / (2 lambda). The same bits on any number of threads.
/// Throws std::invalid_argument for a lambda or tolerance that is negative or not finite.
Optimum find_optimum(const data::Task& task, double lambda, double tolerance, Executor& executor,
                     std::size_t most_iterations = 20'000);

/// A file of the optimum, for the task of this fingerprint. load_optimum throws StateError when it
/// is damaged or of another task or lambda.
void save_optimum(std::ostream& stream, const data::Task& task, double lambda,
                  const Optimum& optimum);
Optimum load_optimum(std::istream& stream, const data::Task& task, double lambda);

}  // namespace tandem::study
