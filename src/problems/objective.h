// SPDX-License-Identifier: MIT
// What the small objective functions have in common: they know their own optimum, so that a test or
// a demo can say how far an optimizer got. What is trained on data is a tandem::Problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem::problems {

/// A smooth function of `dimension()` weights. Everything is a pure function of its arguments and
/// of what the constructor was given, so that runs can be repeated to the bit.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual std::size_t dimension() const = 0;
  /// Where runs start.
  virtual std::vector<double> start() const = 0;
  virtual double loss(std::span<const double> w) const = 0;
  virtual void gradient(std::span<const double> w, std::span<double> g) const = 0;
  /// A random gradient whose mean is gradient(); which one depends on the number of the step alone.
  virtual void stochastic_gradient(std::span<const double> w, std::uint64_t step,
                                   std::span<double> g) const = 0;
  virtual const std::vector<double>& optimum() const = 0;
  double optimum_loss() const { return loss(optimum()); }
};

}  // namespace tandem::problems
