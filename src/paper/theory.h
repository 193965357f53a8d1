// SPDX-License-Identifier: MIT
// The paper's theorems made computable: rates that satisfy them for the constants of a problem, the
// bounds that follow, and which conditions a choice of one's own fails. docs/theory.md tells more.
//
//   gamma_t = gamma / (t + mu)    beta_t = beta / (t - 1 + mu)    alpha_t = alpha / (t - 1 + mu)^2
//
// with A_0 = b_0 = 0, weights projected onto a ball of radius D_w, and batches drawn independently
// at each step.
#pragma once

#include <tandem/schedule.h>

#include <optional>
#include <string>
#include <vector>

namespace tandem::theory {

/// What is known of a problem, in the paper's letters. All are positive and finite.
struct Facts {
  /// Of strong convexity, for Theorem 1; none: Theorem 2, which needs none.
  std::optional<double> c = std::nullopt;
  double L = 0;    // Lipschitz constant of the gradient on every batch
  double D_w = 0;  // radius of the ball; the optimum lies in it
  double D_G = 0;  // no gradient of a batch is longer, anywhere in the ball
  /// Bound of E|g - grad F|^2; none: D_G^2, which always is one.
  std::optional<double> D_V = std::nullopt;
  /// Bound of F(w_1) - F(w) in the ball; none: 2 D_w D_G, which always is one.
  std::optional<double> D_F = std::nullopt;
};

/// Throws std::invalid_argument that names what is not positive and finite, or a c above L.
void require_valid(const Facts& facts);

struct Rates {
  double gamma = 0;
  double beta = 0;
  double alpha = 0;
  double mu = 0;

  Schedule gamma_schedule() const;
  Schedule beta_schedule() const;
  Schedule alpha_schedule() const;
  /// S_alpha, the sum of all alpha_t: alpha times the trigamma function of mu.
  double alpha_sum() const;
};

/// Throws std::invalid_argument unless gamma, beta, mu > 0 and alpha >= 0, all finite.
void require_valid(const Rates& rates);

/// What holds of every run with these rates. The paper takes D_G as a bound of the estimate, which
/// its proof does not give; D_hat is one.
struct Bounds {
  double theta = 0;  // S_alpha D_w^2; below 1 or the others are infinite
  double D_b = 0;    // |b_t| <= D_b
  double D_A = 0;    // |A_t| <= D_A
  double D_hat = 0;  // |G_t| <= D_hat = D_A D_w + D_b
  double Q = 0;      // sqrt(D_A^2 + L^2)
  /// E|w_t - w*|^2 <= M1 / (t + mu) and E|G_t - grad F(w_t)|^2 <= M2 / (t + mu). None without c, or
  /// where a condition of Theorem 1 fails.
  std::optional<double> M1 = std::nullopt;
  std::optional<double> M2 = std::nullopt;
  /// The least E|G_t - grad F(w_t)|^2 of the steps up to T is at most M3 / l, l = log((T + 1 + mu) /
  /// (1 + mu)); where the ball is never reached, the least E|grad F(w_t)|^2 is at most M4 / l.
  /// docs/theory.md has the proof. None with c, or where a condition of Theorem 2 fails.
  std::optional<double> M3 = std::nullopt;
  std::optional<double> M4 = std::nullopt;
};

Bounds bounds(const Facts& facts, const Rates& rates);

/// No |w_t| up to `steps` is longer, when |w_1| = start: below D_w, the projection never acts.
double farthest(const Facts& facts, const Rates& rates, double start, double steps);

/// Rates that satisfy Theorem 1, or Theorem 2 where there is no c. The theorem's conditions are not
/// circular once theta = S_alpha D_w^2, from 0 to 1, is fixed: it gives D_A, that gives beta, that
/// gives mu, and that gives alpha. theta = 0 is alpha = 0.
Rates certified_rates(const Facts& facts, double theta = 0.1);

/// Rates that work at condition numbers where the certified ones take too many steps to show
/// anything: gamma = 2 / c, beta = 4, mu = max(2 gamma L, beta + 1). They fail Theorem 1's condition
/// on beta. L may be that of the full gradient. Throws std::invalid_argument without c.
Rates milder_rates(const Facts& facts, double theta = 0.1);

/// A condition `left < right` of a theorem.
struct Condition {
  std::string name;  // as in "1/c < gamma"
  double left = 0;   // infinite where it has no value because a condition before it fails
  double right = 0;
  bool holds() const { return left < right; }
  /// "1/c < gamma fails: 4 is not below 2".
  std::string text() const;
};

/// All conditions of Theorem 1, or of Theorem 2 where there is no c.
std::vector<Condition> conditions(const Facts& facts, const Rates& rates);
/// Those that these rates fail; none of them: the theorem holds.
std::vector<Condition> check(const Facts& facts, const Rates& rates);

}  // namespace tandem::theory
