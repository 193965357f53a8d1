// SPDX-License-Identifier: MIT
// The rotated quadratic: two Householder reflections around a diagonal.
#include "problems/quadratic.h"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "problems/hashed.h"

namespace tandem::problems {
namespace {

enum Stream : std::uint64_t { start_stream = 1, optimum_stream, mirror_stream, noise_stream = 16 };

std::vector<double> uniform_vector(std::uint64_t seed, std::uint64_t stream, std::size_t size,
                                   double scale) {
  const std::uint64_t key = stream_key(seed, stream);
  std::vector<double> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = scale * hashed_uniform(key, i);
  return x;
}

std::vector<double> unit_vector(std::uint64_t seed, std::uint64_t stream, std::size_t size) {
  std::vector<double> x = uniform_vector(seed, stream, size, 1);
  const double norm = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  for (double& value : x) value /= norm;
  return x;
}

void reflect(const std::vector<double>& normal, std::span<double> x) {
  const double twice = 2 * std::inner_product(normal.begin(), normal.end(), x.begin(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= twice * normal[i];
}

}  // namespace

Quadratic::Quadratic(QuadraticOptions options) : options_(std::move(options)) {
  const std::size_t d = options_.eigenvalues.size();
  if (d == 0) throw std::invalid_argument("Quadratic: eigenvalues is empty, expected at least one");
  first_mirror_ = unit_vector(options_.seed, mirror_stream, d);
  second_mirror_ = unit_vector(options_.seed, mirror_stream + 1, d);
  start_ = uniform_vector(options_.seed, start_stream, d, options_.scale);
  optimum_ = uniform_vector(options_.seed, optimum_stream, d, options_.scale);
}

void Quadratic::rotate(std::span<const double> w, std::span<double> g) const {
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = w[i] - optimum_[i];
  reflect(first_mirror_, g);
  reflect(second_mirror_, g);
}

double Quadratic::loss(std::span<const double> w) const {
  std::vector<double> e(dimension());
  rotate(w, e);
  double sum = 0;
  for (std::size_t i = 0; i < e.size(); ++i) sum += options_.eigenvalues[i] * e[i] * e[i];
  return 0.5 * sum;
}

void Quadratic::gradient(std::span<const double> w, std::span<double> g) const {
  rotate(w, g);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] *= options_.eigenvalues[i];
  reflect(second_mirror_, g);
  reflect(first_mirror_, g);
}

void Quadratic::stochastic_gradient(std::span<const double> w, std::uint64_t step,
                                    std::span<double> g) const {
  gradient(w, g);
  const std::uint64_t key = stream_key(options_.seed, noise_stream + step);
  const double width = options_.noise * std::sqrt(3.0);  // uniform with that standard deviation
  for (std::size_t i = 0; i < g.size(); ++i) g[i] += width * hashed_uniform(key, i);
}

std::vector<double> geometric_eigenvalues(std::size_t dimension, double low, double high) {
  std::vector<double> values(dimension, low);
  for (std::size_t i = 1; i < dimension; ++i)
    values[i] =
        low * std::pow(high / low, static_cast<double>(i) / static_cast<double>(dimension - 1));
  return values;
}

}  // namespace tandem::problems
