// SPDX-License-Identifier: MIT
// Robust regression, row by row, and what bounds its gradients.
#include "paper/theory_robust.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/random.h"

namespace tandem::theory {
namespace {

constexpr std::size_t kPairs = 100;
constexpr double kRadius = 6;
// At most 1 / (2 sqrt(3)). The two losses of a pair then sum to their least where x.w = x.w*: to
// the right of it, at s = x.w - x.w* > 0, the slope of the sum is f'(noise + s) - f'(noise - s) for
// s < noise, more than 0 because f' rises up to 1 / sqrt(3), and a sum of positive slopes beyond;
// to the left it is the same with the other sign. So w* is a least point of every pair, and of F.
constexpr double kNoise = 0.25;

double dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double loss_of(double r) { return r * r / (2 * (1 + r * r)); }
double slope_of(double r) { return r / ((1 + r * r) * (1 + r * r)); }

}  // namespace

RobustRegression::RobustRegression(RobustOptions options)
    : options_(options), optimum_({0.6, 0.8}) {
  if (options.batch == 0) {
    throw std::invalid_argument("theory: the batch is 0; expected 1 or more rows");
  }
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    Random random(1, ~std::uint64_t{pair});  // a stream that no step has
    std::vector<double> x(dimension());
    for (double& value : x) value = random.normal();
    const double length = std::sqrt(dot(x, x));
    for (double& value : x) value /= length;
    values_.insert(values_.end(), x.begin(), x.end());
    targets_.push_back(dot(x, optimum_) + kNoise);
    targets_.push_back(dot(x, optimum_) - kNoise);
  }
}

std::vector<double> RobustRegression::start() const {
  std::vector<double> w = optimum_;
  for (double& x : w) x *= -0.2;
  return w;
}

std::span<const double> RobustRegression::row(std::size_t n) const {
  return std::span(values_).subspan(n / 2 * dimension(), dimension());
}

double RobustRegression::residual(std::size_t n, std::span<const double> w) const {
  return dot(row(n), w) - targets_[n];
}

void RobustRegression::add_row(std::size_t n, double scale, std::span<const double> w,
                               std::span<double> g) const {
  const double slope = scale * slope_of(residual(n, w));
  for (std::size_t i = 0; i < g.size(); ++i) g[i] += slope * row(n)[i];
}

double RobustRegression::loss(std::span<const double> w) const {
  double sum = 0;
  for (std::size_t n = 0; n < targets_.size(); ++n) sum += loss_of(residual(n, w));
  return sum / static_cast<double>(targets_.size());
}

void RobustRegression::gradient(std::span<const double> w, std::span<double> g) const {
  std::fill(g.begin(), g.end(), 0.0);
  const double scale = 1 / static_cast<double>(targets_.size());
  for (std::size_t n = 0; n < targets_.size(); ++n) add_row(n, scale, w, g);
}

void RobustRegression::stochastic_gradient(std::span<const double> w, std::uint64_t step,
                                           std::span<double> g) const {
  std::fill(g.begin(), g.end(), 0.0);
  Random random(options_.seed, step);
  const double scale = 1 / static_cast<double>(options_.batch);
  for (std::size_t k = 0; k < options_.batch; ++k) {
    add_row(random.below(targets_.size()), scale, w, g);
  }
}

Facts RobustRegression::facts() const {
  // f''(r) = (1 - 3 r^2) / (1 + r^2)^3 is between -1/4, at r = 1, and 1, at r = 0. So |f''| <= 1,
  // and a row's Hessian, f'' x x^T, is at most |x|^2. |f'| is greatest where f'' = 0, at r^2 = 1/3:
  // (1 / sqrt(3)) / (4/3)^2 = 3 sqrt(3) / 16; a row's gradient is f' x. The variance of a mean of
  // independent rows is that of one, at most D_G^2, divided by their number.
  double longest = 0;
  for (std::size_t n = 0; n < targets_.size(); n += 2) {
    longest = std::max(longest, dot(row(n), row(n)));
  }
  Facts facts;
  facts.L = longest;
  facts.D_w = kRadius;
  facts.D_G = 3 * std::sqrt(3 * longest) / 16;
  facts.D_V = facts.D_G * facts.D_G / static_cast<double>(options_.batch);
  facts.D_F = loss(start()) - optimum_loss();
  return facts;
}

}  // namespace tandem::theory
