// SPDX-License-Identifier: MIT
// The constants of Theorems 1 and 2, in the order in which they follow from each other.
#include "paper/theory.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tandem::theory {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// How far above a bound that must be exceeded: small, since all of them cost speed.
constexpr double kMargin = 1.01;

void require_positive(const char* what, double value) {
  if (std::isfinite(value) && value > 0) return;
  throw std::invalid_argument(fmt::format("{} is {}; expected a finite number > 0", what, value));
}

double square(double x) { return x * x; }

/// Of the rates, D_A and so Q depend on theta alone.
Bounds bounds_of_theta(const Facts& facts, double theta) {
  Bounds bounds{.theta = theta};
  const double rest = 1 - theta;
  bounds.D_b = theta < 1 ? facts.D_G * (1 + theta) / rest : kInfinity;
  bounds.D_A = theta < 1 ? 2 * theta * facts.D_G / (rest * facts.D_w) : kInfinity;
  bounds.D_hat = bounds.D_A * facts.D_w + bounds.D_b;
  bounds.Q = std::hypot(bounds.D_A, facts.L);
  return bounds;
}

/// What beta has to exceed.
double least_beta(const Facts& facts, double gamma, double q) {
  if (!facts.c) return 1 + 6 * gamma * q;
  const double c = *facts.c;
  if (!(gamma * c > 1)) return kInfinity;
  return 1 + 4 * square(gamma * facts.L) * q / (c * (gamma * c - 1)) + 2 * gamma * q;
}

double alpha_of(const Facts& facts, double theta, double mu) {
  return theta / (square(facts.D_w) * boost::math::trigamma(mu));
}

double delta_of(const Facts& facts, const Rates& rates) {
  return rates.alpha * square(facts.D_w) / rates.mu + rates.beta;
}

/// M1 and M2 of the proof of Theorem 1: a point between two lines, k2 M2 + b2 <= M1 <= k1 M2 + b1,
/// above what the errors can be at the first step.
void add_error_bounds(const Facts& facts, const Rates& rates, Bounds& bounds) {
  const double c = *facts.c;
  const double gamma = rates.gamma;
  const double c1_gamma = 4 * square(facts.L) * bounds.Q * gamma;
  const double delta = delta_of(facts, rates);
  const double variance = facts.D_V.value_or(square(facts.D_G));
  const double k1 = (rates.beta - 2 * gamma * bounds.Q - 1) / c1_gamma;
  const double b1 = -variance * square(delta) / c1_gamma;
  const double k2 = gamma / (c * (gamma * c - 1));
  const double b2 = square(bounds.D_hat * gamma) / (gamma * c - 1);
  const double first_weights = 4 * (rates.mu + 1) * square(facts.D_w);
  const double first_estimate = (rates.mu + 1) * std::max(square(facts.D_G), variance);
  bounds.M2 = std::max({first_estimate, (b2 - b1) / (k1 - k2), (first_weights - b1) / k1});
  bounds.M1 = std::max(first_weights, k2 * *bounds.M2 + b2);
}

/// M3 and M4 of the proof of Theorem 2 as docs/theory.md repairs it: beta exceeds 6 gamma Q, the
/// sums over t converge as they are.
void add_least_error_bounds(const Facts& facts, const Rates& rates, Bounds& bounds) {
  const double variance = facts.D_V.value_or(square(facts.D_G));
  const double drop = facts.D_F.value_or(2 * facts.D_w * facts.D_G);
  const double noise =
      variance * square(delta_of(facts, rates)) * boost::math::trigamma(1 + rates.mu);
  bounds.M3 = (square(facts.D_G) + 2.4 * bounds.Q * drop + noise) /
              (rates.beta - 3.2 * rates.gamma * bounds.Q);
  bounds.M4 = *bounds.M3 + 2 * drop / rates.gamma;
}

}  // namespace

void require_valid(const Facts& facts) {
  require_positive("L", facts.L);
  require_positive("D_w", facts.D_w);
  require_positive("D_G", facts.D_G);
  if (facts.D_V) require_positive("D_V", *facts.D_V);
  if (facts.D_F) require_positive("D_F", *facts.D_F);
  if (!facts.c) return;
  require_positive("c", *facts.c);
  if (*facts.c > facts.L) {
    throw std::invalid_argument(
        fmt::format("c is {}; expected at most L = {}, as for every function", *facts.c, facts.L));
  }
}

void require_valid(const Rates& rates) {
  require_positive("gamma", rates.gamma);
  require_positive("beta", rates.beta);
  require_positive("mu", rates.mu);
  if (!std::isfinite(rates.alpha) || rates.alpha < 0) {
    throw std::invalid_argument(
        fmt::format("alpha is {}; expected a finite number >= 0", rates.alpha));
  }
}

// Clocks count from 1, so t - 1 + mu is t plus the offset mu - 1.
Schedule Rates::gamma_schedule() const { return Schedule::inverse(gamma, mu); }
Schedule Rates::beta_schedule() const { return Schedule::inverse(beta, mu - 1); }
Schedule Rates::alpha_schedule() const { return Schedule::inverse(alpha, mu - 1, 2); }

double Rates::alpha_sum() const { return alpha == 0 ? 0 : alpha * boost::math::trigamma(mu); }

Bounds bounds(const Facts& facts, const Rates& rates) {
  require_valid(facts);
  require_valid(rates);
  Bounds bounds = bounds_of_theta(facts, rates.alpha_sum() * square(facts.D_w));
  if (!check(facts, rates).empty()) return bounds;
  if (facts.c) {
    add_error_bounds(facts, rates, bounds);
  } else {
    add_least_error_bounds(facts, rates, bounds);
  }
  return bounds;
}

double farthest(const Facts& facts, const Rates& rates, double start, double steps) {
  // gamma_1 + ... + gamma_steps is below the integral of gamma / (t + mu) from 0.
  return start + bounds(facts, rates).D_hat * rates.gamma * std::log1p(steps / rates.mu);
}

Rates certified_rates(const Facts& facts, double theta) {
  require_valid(facts);
  if (!(theta >= 0 && theta < 1)) {
    throw std::invalid_argument(fmt::format("theta is {}; expected 0 <= theta < 1", theta));
  }
  const double q = bounds_of_theta(facts, theta).Q;
  Rates rates;
  rates.gamma = facts.c ? 2 / *facts.c : 0.9 / facts.L;
  rates.beta = kMargin * least_beta(facts, rates.gamma, q);
  rates.mu = kMargin * (rates.beta + 1);
  const auto fits = [&] {
    return std::ranges::all_of(conditions(facts, rates), &Condition::holds);
  };
  while (true) {
    rates.alpha = alpha_of(facts, theta, rates.mu);
    if (fits()) return rates;
    if (rates.mu > 1e300) break;
    rates.mu *= 2;
  }
  throw std::invalid_argument(
      fmt::format("No mu up to {} satisfies the theorem: L = {}, D_w = {}, D_G = {}, theta = {}; "
                  "expected numbers within the range of double",
                  rates.mu, facts.L, facts.D_w, facts.D_G, theta));
}

Rates milder_rates(const Facts& facts, double theta) {
  require_valid(facts);
  if (!facts.c) throw std::invalid_argument("milder rates: c is not given; expected a number > 0");
  Rates rates;
  rates.gamma = 2 / *facts.c;
  rates.beta = 4;
  rates.mu = std::max(2 * rates.gamma * facts.L, rates.beta + 1);
  rates.alpha = alpha_of(facts, theta, rates.mu);
  return rates;
}

std::string Condition::text() const {
  return holds() ? fmt::format("{} holds: {:.6g} is below {:.6g}", name, left, right)
                 : fmt::format("{} fails: {:.6g} is not below {:.6g}", name, left, right);
}

std::vector<Condition> conditions(const Facts& facts, const Rates& rates) {
  require_valid(facts);
  require_valid(rates);
  const double sum = rates.alpha_sum();
  const double q = bounds_of_theta(facts, sum * square(facts.D_w)).Q;
  std::vector<Condition> all;
  if (facts.c) {
    all.push_back({"1/c < gamma", 1 / *facts.c, rates.gamma});
    all.push_back({"1 + 4 gamma^2 L^2 Q / (c (gamma c - 1)) + 2 gamma Q < beta",
                   least_beta(facts, rates.gamma, q), rates.beta});
  } else {
    all.push_back({"gamma < 1/L", rates.gamma, 1 / facts.L});
    all.push_back({"1 + 6 gamma Q < beta", least_beta(facts, rates.gamma, q), rates.beta});
  }
  all.push_back({"sum of alpha_t < 1/D_w^2", sum, 1 / square(facts.D_w)});
  all.push_back({"alpha_1 < 1", rates.alpha / square(rates.mu), 1});
  all.push_back({"beta_1 < 1", rates.beta / rates.mu, 1});
  all.push_back({"gamma_1 < 1", rates.gamma / (rates.mu + 1), 1});
  all.push_back({"alpha D_w^2 / mu + beta < mu", delta_of(facts, rates), rates.mu});
  return all;
}

std::vector<Condition> check(const Facts& facts, const Rates& rates) {
  std::vector<Condition> failed = conditions(facts, rates);
  std::erase_if(failed, [](const Condition& condition) { return condition.holds(); });
  return failed;
}

}  // namespace tandem::theory
