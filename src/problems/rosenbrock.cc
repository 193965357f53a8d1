// SPDX-License-Identifier: MIT
// Rosenbrock's valley in any number of dimensions from two on.
#include "problems/rosenbrock.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "problems/hashed.h"

namespace tandem::problems {

Rosenbrock::Rosenbrock(RosenbrockOptions options)
    : options_(options), optimum_(options.dimension, 1.0) {
  if (options_.dimension < 2)
    throw std::invalid_argument("Rosenbrock: dimension is " + std::to_string(options_.dimension) +
                                ", expected at least 2");
}

std::vector<double> Rosenbrock::start() const {
  std::vector<double> w(options_.dimension, 1.0);
  for (std::size_t i = 0; i < w.size(); i += 2) w[i] = -1.2;
  return w;
}

double Rosenbrock::loss(std::span<const double> w) const {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < w.size(); ++i) {
    const double off_valley = w[i + 1] - w[i] * w[i];
    const double along = 1 - w[i];
    sum += 100 * off_valley * off_valley + along * along;
  }
  return sum;
}

void Rosenbrock::gradient(std::span<const double> w, std::span<double> g) const {
  for (double& value : g) value = 0;
  for (std::size_t i = 0; i + 1 < w.size(); ++i) {
    const double off_valley = w[i + 1] - w[i] * w[i];
    g[i] += -400 * off_valley * w[i] - 2 * (1 - w[i]);
    g[i + 1] += 200 * off_valley;
  }
}

void Rosenbrock::stochastic_gradient(std::span<const double> w, std::uint64_t step,
                                     std::span<double> g) const {
  gradient(w, g);
  const std::uint64_t key = stream_key(options_.seed, step);
  const double width = options_.noise * std::sqrt(3.0);  // uniform with that standard deviation
  for (std::size_t i = 0; i < g.size(); ++i) g[i] += width * hashed_uniform(key, i);
}

}  // namespace tandem::problems
