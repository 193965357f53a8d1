// SPDX-License-Identifier: MIT
// Softmax regression in double precision, row by row, and what bounds its gradients.
#include "paper/theory_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/random.h"
#include "data/synthetic.h"
#include "kernels/kernels.h"
#include "study/optimum.h"

namespace tandem::theory {
namespace {

const kernels::Kernels<double>& simd() { return kernels::kernels<double>(); }

double dot(std::span<const double> x, std::span<const double> y) {
  return simd().dot(x.data(), y.data(), x.size());
}
double norm(std::span<const double> x) { return std::sqrt(dot(x, x)); }

/// y += factor x.
void add_scaled(double factor, std::span<const double> x, std::span<double> y) {
  simd().add_scaled(y.data(), x.data(), x.size(), factor, y.data());
}

// Streams of the seed. Those of batches are the numbers of steps, which are below 2^63.
constexpr std::uint64_t kStart = ~std::uint64_t{0};
// Shuffled epochs: repetitions lie so far apart (theory_experiment.cc), epochs in the other half.
constexpr std::uint64_t kEpochs = std::uint64_t{1} << 63;

/// A permutation of the numbers below `count` without a table: four rounds of a Feistel network on
/// the next power of four, walked until the number is below `count`.
std::uint64_t shuffled(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                       std::uint64_t count) {
  unsigned half = 1;
  while (std::uint64_t{1} << (2 * half) < count) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = index >> half;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      Random random(seed ^ stream, (right << 2) + round);
      left ^= random.bits() & mask;
      std::swap(left, right);
    }
    index = (left << half) | right;
  } while (index >= count);
  return index;
}

}  // namespace

Softmax::Softmax(const data::Task& task, SoftmaxOptions options, Executor& executor)
    : options_(options),
      rows_(task.train.rows),
      features_(task.train.features),
      classes_(task.train.classes),
      labels_(task.train.labels) {
  const std::string& name = task.train.name;
  if (task.train.sparse) {
    throw std::invalid_argument(
        fmt::format("theory: the rows of {} are sparse; expected dense ones", name));
  }
  if (!(options.lambda > 0 && std::isfinite(options.lambda))) {
    throw std::invalid_argument(
        fmt::format("theory: lambda is {}; expected a finite number > 0", options.lambda));
  }
  if (options.batch == 0 || options.batch > rows_) {
    throw std::invalid_argument(
        fmt::format("theory: the batch is {}; expected 1 to {}, the rows", options.batch, rows_));
  }
  values_.assign(task.train.dense.span().begin(), task.train.dense.span().end());
  study::Optimum found = study::find_optimum(task, options.lambda, 1e-11, executor);
  if (!found.converged) {
    throw std::runtime_error(
        fmt::format("theory: the optimum of {} with lambda = {} was found to |grad F| = {}; "
                    "expected 1e-11",
                    name, options.lambda, found.gradient_norm));
  }
  optimum_ = std::move(found.weights);
}

std::vector<double> Softmax::start() const {
  std::vector<double> w(dimension());
  Random random(options_.seed, kStart);
  for (double& x : w) x = random.normal();
  const double scale = norm(optimum_) / norm(w);
  for (double& x : w) x *= scale;
  return w;
}

std::span<const double> Softmax::row(std::size_t n) const {
  return std::span(values_).subspan(n * features_, features_);
}

double Softmax::to_coefficients(std::size_t n, std::span<const double> w,
                                std::span<double> logits) const {
  for (std::size_t c = 0; c < classes_; ++c) {
    logits[c] = dot(row(n), w.subspan(c * features_, features_));
  }
  const double largest = *std::max_element(logits.begin(), logits.end());
  const double label = logits[labels_[n]] - largest;
  double sum = 0;
  for (double& x : logits) sum += x = std::exp(x - largest);
  for (double& x : logits) x /= sum;
  logits[labels_[n]] -= 1;
  return std::log(sum) - label;
}

void Softmax::add_row(std::size_t n, double scale, std::span<const double> w,
                      std::span<double> logits, std::span<double> g) const {
  to_coefficients(n, w, logits);
  for (std::size_t c = 0; c < classes_; ++c) {
    add_scaled(scale * logits[c], row(n), g.subspan(c * features_, features_));
  }
}

double Softmax::loss(std::span<const double> w) const {
  std::vector<double> logits(classes_);
  double sum = 0;
  for (std::size_t n = 0; n < rows_; ++n) sum += to_coefficients(n, w, logits);
  return sum / static_cast<double>(rows_) + options_.lambda / 2 * dot(w, w);
}

void Softmax::gradient(std::span<const double> w, std::span<double> g) const {
  std::vector<double> logits(classes_);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = options_.lambda * w[i];
  const double scale = 1 / static_cast<double>(rows_);
  for (std::size_t n = 0; n < rows_; ++n) add_row(n, scale, w, logits, g);
}

void Softmax::stochastic_gradient(std::span<const double> w, std::uint64_t step,
                                  std::span<double> g) const {
  std::vector<double> logits(classes_);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = options_.lambda * w[i];
  const double scale = 1 / static_cast<double>(options_.batch);
  if (options_.batches == Batches::independent) {
    Random random(options_.seed, step);
    for (std::size_t k = 0; k < options_.batch; ++k) {
      add_row(random.below(rows_), scale, w, logits, g);
    }
    return;
  }
  // The last rows of an epoch that make no whole batch are left out, others each time.
  const std::uint64_t batches = rows_ / options_.batch;
  const std::uint64_t first = step % batches * options_.batch;
  for (std::uint64_t k = first; k < first + options_.batch; ++k) {
    add_row(shuffled(options_.seed, kEpochs + step / batches, k, rows_), scale, w, logits, g);
  }
}

double Softmax::longest_row_squared() const {
  double longest = 0;
  for (std::size_t n = 0; n < rows_; ++n) longest = std::max(longest, dot(row(n), row(n)));
  return longest;
}

Facts Softmax::facts() const {
  // The Hessian of a row's cross entropy is (diag(p) - p p^T) x x^T, and the norm of the first
  // factor is at most 1/2; the gradient is (p - e) x^T, |p - e|^2 at most 2.
  const double longest = longest_row_squared();
  Facts facts;
  facts.c = options_.lambda;
  facts.L = options_.lambda + longest / 2;
  facts.D_w = 2 * norm(optimum_);
  facts.D_G = options_.lambda * facts.D_w + std::sqrt(2 * longest);
  return facts;
}

double Softmax::mean_smoothness() const {
  // Power iteration; a little short of the eigenvalue, by less than 1e-6 of it or so.
  std::vector<double> v(features_, 1.0), next(features_);
  double value = 0;
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double length = norm(v);
    if (length == 0) break;
    for (double& x : v) x /= length;
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t n = 0; n < rows_; ++n) {
      add_scaled(dot(row(n), v) / static_cast<double>(rows_), row(n), next);
    }
    const double before = value;
    value = norm(next);
    std::swap(v, next);
    if (std::abs(value - before) < 1e-9 * value) break;
  }
  return options_.lambda + value / 2;
}

data::Task unit_task(std::size_t rows, std::uint64_t seed) {
  data::Task task;
  task.train = data::make_synthetic(
      {.rows = rows, .features = 10, .noise = 0.1, .rotate = false, .seed = seed});
  task.train.name = "rows of length 1";
  for (std::size_t n = 0; n < rows; ++n) {
    const auto x = task.train.dense.span().subspan(n * 10, 10);
    const double length = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    // Rounded down, so that L / c is not a hair above 2.
    for (float& value : x) value = static_cast<float>(value / length * (1 - 1e-7));
  }
  return task;
}

}  // namespace tandem::theory
