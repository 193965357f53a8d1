// SPDX-License-Identifier: MIT
// Synthetic logistic regression and Newton's method for its optimum.
#include "problems/logistic.h"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "problems/hashed.h"

namespace tandem::problems {
namespace {

enum Stream : std::uint64_t {
  feature_stream = 1,
  truth_stream,
  label_stream,
  start_stream,
  batch_stream = 16
};

double norm(std::span<const double> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// Solves H x = x in place, H symmetric and positive definite, by Cholesky's method.
void solve_in_place(std::vector<double> h, std::vector<double>& x) {
  const std::size_t d = x.size();
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t k = 0; k < j; ++k)
      for (std::size_t i = j; i < d; ++i) h[i * d + j] -= h[i * d + k] * h[j * d + k];
    const double root = std::sqrt(h[j * d + j]);
    for (std::size_t i = j; i < d; ++i) h[i * d + j] /= root;
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= h[i * d + k] * x[k];
    x[i] /= h[i * d + i];
  }
  for (std::size_t i = d; i-- > 0;) {
    for (std::size_t k = i + 1; k < d; ++k) x[i] -= h[k * d + i] * x[k];
    x[i] /= h[i * d + i];
  }
}

}  // namespace

Logistic::Logistic(LogisticOptions options) : options_(options) {
  const std::size_t d = options_.dimension;
  if (d == 0 || options_.samples == 0 || options_.batch == 0)
    throw std::invalid_argument("Logistic: dimension, samples and batch must be at least 1");
  if (!(options_.l2 > 0)) throw std::invalid_argument("Logistic: l2 must be more than 0");
  const std::uint64_t feature_key = stream_key(options_.seed, feature_stream);
  const std::uint64_t truth_key = stream_key(options_.seed, truth_stream);
  const std::uint64_t label_key = stream_key(options_.seed, label_stream);
  features_.resize(options_.samples * d);
  labels_.resize(options_.samples);
  for (std::size_t n = 0; n < options_.samples; ++n) {
    double score = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const double scale = 1.5 - static_cast<double>(i) / static_cast<double>(d);
      features_[n * d + i] = scale * hashed_normal(feature_key, n * d + i);
      score += features_[n * d + i] * hashed_normal(truth_key, i);
    }
    const bool wrong = hashed_uniform(label_key, n) > 0.8;
    labels_[n] = (score > 0) == wrong ? -1 : 1;
  }
  // Plain Newton steps from 0; the loss is smooth and strongly convex enough for them to converge
  // quadratically, and the step is halved should one ever go uphill.
  optimum_.assign(d, 0.0);
  std::vector<double> g(d), next(d);
  for (int iteration = 0; iteration < 100; ++iteration) {
    gradient(optimum_, g);
    if (norm(g) < 1e-15) break;
    const std::vector<double> direction = newton_step(optimum_, g);
    const double before = loss(optimum_);
    for (double length = 1; length > 1e-6; length /= 2) {
      for (std::size_t i = 0; i < d; ++i) next[i] = optimum_[i] - length * direction[i];
      if (loss(next) <= before + 1e-12) break;
    }
    optimum_ = next;
  }
  gradient(optimum_, g);
  if (!(norm(g) < 1e-12)) throw std::logic_error("Logistic: Newton's method did not converge");
}

std::vector<double> Logistic::start() const {
  std::vector<double> w(options_.dimension);
  const std::uint64_t key = stream_key(options_.seed, start_stream);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = hashed_normal(key, i);
  return w;
}

std::span<const double> Logistic::row(std::size_t n) const {
  return std::span(features_).subspan(n * options_.dimension, options_.dimension);
}

double Logistic::margin(std::size_t n, std::span<const double> w) const {
  const auto x = row(n);
  return labels_[n] * std::inner_product(x.begin(), x.end(), w.begin(), 0.0);
}

double Logistic::loss(std::span<const double> w) const {
  double sum = 0;
  for (std::size_t n = 0; n < options_.samples; ++n) {
    const double m = margin(n, w);
    sum += m > 0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
  }
  const double square = std::inner_product(w.begin(), w.end(), w.begin(), 0.0);
  return sum / static_cast<double>(options_.samples) + 0.5 * options_.l2 * square;
}

void Logistic::add_sample_gradient(std::size_t n, double scale, std::span<const double> w,
                                   std::span<double> g) const {
  const double factor = -scale * labels_[n] / (1 + std::exp(margin(n, w)));
  const auto x = row(n);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] += factor * x[i];
}

void Logistic::gradient(std::span<const double> w, std::span<double> g) const {
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = options_.l2 * w[i];
  const double scale = 1.0 / static_cast<double>(options_.samples);
  for (std::size_t n = 0; n < options_.samples; ++n) add_sample_gradient(n, scale, w, g);
}

void Logistic::stochastic_gradient(std::span<const double> w, std::uint64_t step,
                                   std::span<double> g) const {
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = options_.l2 * w[i];
  const std::uint64_t key = stream_key(options_.seed, batch_stream + step);
  const double scale = 1.0 / static_cast<double>(options_.batch);
  for (std::size_t k = 0; k < options_.batch; ++k)
    add_sample_gradient(mixed_bits(key + k) % options_.samples, scale, w, g);
}

std::vector<double> Logistic::newton_step(std::span<const double> w, std::vector<double> g) const {
  const std::size_t d = options_.dimension;
  std::vector<double> hessian(d * d);
  for (std::size_t i = 0; i < d; ++i) hessian[i * d + i] = options_.l2;
  for (std::size_t n = 0; n < options_.samples; ++n) {
    const double p = 1 / (1 + std::exp(-margin(n, w)));
    const double weight = p * (1 - p) / static_cast<double>(options_.samples);
    const auto x = row(n);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) hessian[i * d + j] += weight * x[i] * x[j];
  }
  solve_in_place(std::move(hessian), g);
  return g;
}

}  // namespace tandem::problems
