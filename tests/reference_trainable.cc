// SPDX-License-Identifier: MIT
// Algorithms 1 to 3 of "A Trainable Optimizer" line by line, their normalised variants, Block-TO
// and Adam-TO.
#include <algorithm>
#include <cmath>

#include "tests/reference.h"

namespace tandem::reference {
namespace {

Vector given_or_zero(const Vector& given, std::size_t size) {
  return given.empty() ? Vector(size) : given;
}

double norm(const Vector& x) { return std::sqrt(dot(x, x)); }

/// Algorithm 1 on one block of coordinates (or on all of them).
class FullEstimator {
 public:
  FullEstimator(std::size_t d, const Trained& t)
      : d_(d),
        trained_(t),
        A_(given_or_zero(t.initial_A, d * d)),
        b_(given_or_zero(t.initial_b, d)) {}

  Vector estimate(const Vector& w, const Vector& g, double alpha, double beta) {
    const double square = dot(w, w);
    if (trained_.normalize) alpha /= trained_.normalize_eps + square;
    Vector r = product(w);
    for (std::size_t i = 0; i < d_; ++i) r[i] = g[i] - r[i] - b_[i];
    for (std::size_t i = 0; i < d_; ++i)
      for (std::size_t j = 0; j < d_; ++j) A_[i * d_ + j] += alpha * r[i] * w[j];
    for (std::size_t i = 0; i < d_; ++i) b_[i] += beta * r[i];
    Vector G = product(w);
    for (std::size_t i = 0; i < d_; ++i) G[i] += b_[i];
    residual_square = dot(r, r);
    delta = alpha * square + beta;
    return G;
  }

  double residual_square = 0;
  double delta = 0;

 private:
  Vector product(const Vector& w) const {
    Vector y(d_);
    for (std::size_t i = 0; i < d_; ++i)
      for (std::size_t j = 0; j < d_; ++j) y[i] += A_[i * d_ + j] * w[j];
    return y;
  }

  std::size_t d_;
  Trained trained_;
  Vector A_, b_;
};

class BlockTo : public Rule {
 public:
  BlockTo(std::size_t d, std::size_t block, const Update& u, const Trained& t)
      : Rule(u), block_(block) {
    for (std::size_t from = 0; from < d; from += block)
      estimators_.emplace_back(std::min(block, d - from), t);
  }

 private:
  Vector direction(const Vector& w, const Vector& g, const Rates& rates) override {
    Vector G;
    seen = {.residual_norm = 0, .gradient_norm = norm(g), .delta = 0};
    for (std::size_t k = 0; k < estimators_.size(); ++k) {
      const auto from = static_cast<std::ptrdiff_t>(k * block_);
      const auto to = static_cast<std::ptrdiff_t>(std::min((k + 1) * block_, w.size()));
      const Vector part = estimators_[k].estimate(Vector(w.begin() + from, w.begin() + to),
                                                  Vector(g.begin() + from, g.begin() + to),
                                                  rates.alpha, rates.beta);
      G.insert(G.end(), part.begin(), part.end());
      seen.residual_norm += estimators_[k].residual_square;
      seen.delta = std::max(seen.delta, estimators_[k].delta);
    }
    seen.residual_norm = std::sqrt(seen.residual_norm);
    return G;
  }

  std::size_t block_;
  std::vector<FullEstimator> estimators_;
};

/// Algorithm 2; with a second moment, Adam-TO.
class DiagTo : public Rule {
 public:
  DiagTo(std::size_t d, const Update& u, const Trained& t)
      : Rule(u),
        trained_(t),
        a_(given_or_zero(t.initial_a, d)),
        b_(given_or_zero(t.initial_b, d)) {}

 protected:
  Vector direction(const Vector& w, const Vector& g, const Rates& rates) override {
    const std::size_t d = w.size();
    Vector G(d), r(d);
    seen = {.residual_norm = 0, .gradient_norm = norm(g), .delta = 0};
    for (std::size_t i = 0; i < d; ++i) {
      const double alpha =
          trained_.normalize ? rates.alpha / (trained_.normalize_eps + w[i] * w[i]) : rates.alpha;
      r[i] = g[i] - a_[i] * w[i] - b_[i];
      a_[i] += alpha * r[i] * w[i];
      b_[i] += rates.beta * r[i];
      G[i] = a_[i] * w[i] + b_[i];
      seen.delta = std::max(seen.delta, alpha * w[i] * w[i] + rates.beta);
    }
    seen.residual_norm = norm(r);
    return G;
  }

 private:
  Trained trained_;
  Vector a_, b_;
};

class AdamTo : public DiagTo {
 public:
  AdamTo(std::size_t d, double beta2, double eps, const Update& u, const Trained& t)
      : DiagTo(d, u, t), beta2_(beta2), eps_(eps), v_(d) {}

 private:
  Vector direction(const Vector& w, const Vector& g, const Rates& rates) override {
    ++t_;
    Vector D = DiagTo::direction(w, g, rates);
    const double correction = 1 - std::pow(beta2_, t_);
    for (std::size_t i = 0; i < g.size(); ++i) {
      v_[i] = beta2_ * v_[i] + (1 - beta2_) * g[i] * g[i];
      D[i] /= std::sqrt(v_[i] / correction) + eps_;
    }
    return D;
  }

  double beta2_, eps_;
  Vector v_;
  int t_ = 0;
};

/// Algorithm 3.
class RoTo : public Rule {
 public:
  RoTo(std::size_t d, const Update& u, const Trained& t)
      : Rule(u),
        trained_(t),
        a_(given_or_zero(t.initial_a, d)),
        c_(given_or_zero(t.initial_c, d)),
        c_given_(!t.initial_c.empty()),
        b_(given_or_zero(t.initial_b, d)) {}

 private:
  Vector direction(const Vector& w, const Vector& g, const Rates& rates) override {
    const std::size_t d = w.size();
    ++t_;
    if (!c_given_ && dot(w, w) > 0) {
      const double length = t_ == 1 ? dot(w, w) : norm(w);
      for (std::size_t i = 0; i < d; ++i) c_[i] = w[i] / length;
      c_given_ = true;
    }
    const double s = dot(c_, w);
    const double ww = dot(w, w);
    const double aa = dot(a_, a_);
    Vector r(d);
    for (std::size_t i = 0; i < d; ++i) r[i] = g[i] - a_[i] * s - b_[i];
    const double q = dot(r, a_);
    double alpha_a = rates.alpha, alpha_c = rates.alpha;
    if (trained_.normalize) {
      alpha_a = rates.alpha / (trained_.normalize_eps + s * s);
      alpha_c = rates.alpha / (trained_.normalize_eps + aa * ww);
      const double most = rates.alpha * std::abs(s);
      if (std::abs(alpha_c * q * ww) > most) alpha_c = most / std::abs(q * ww);
    }
    for (std::size_t i = 0; i < d; ++i) a_[i] += alpha_a * r[i] * s;
    for (std::size_t i = 0; i < d; ++i) c_[i] += alpha_c * q * w[i];
    for (std::size_t i = 0; i < d; ++i) b_[i] += rates.beta * r[i];
    const double s_after = dot(c_, w);
    Vector G(d);
    for (std::size_t i = 0; i < d; ++i) G[i] = a_[i] * s_after + b_[i];
    seen = {.residual_norm = norm(r),
            .gradient_norm = norm(g),
            .delta = alpha_a * s * s + alpha_c * aa * ww + rates.beta};
    return G;
  }

  Trained trained_;
  Vector a_, c_;
  bool c_given_;
  Vector b_;
  int t_ = 0;
};

}  // namespace

RulePointer full_to(std::size_t dimension, const Update& update, const Trained& trained) {
  return std::make_unique<BlockTo>(dimension, dimension, update, trained);
}

RulePointer block_to(std::size_t dimension, std::size_t block, const Update& update,
                     const Trained& trained) {
  return std::make_unique<BlockTo>(dimension, block, update, trained);
}

RulePointer diag_to(std::size_t dimension, const Update& update, const Trained& trained) {
  return std::make_unique<DiagTo>(dimension, update, trained);
}

RulePointer adam_to(std::size_t dimension, double beta2, double eps, const Update& update,
                    const Trained& trained) {
  return std::make_unique<AdamTo>(dimension, beta2, eps, update, trained);
}

RulePointer ro_to(std::size_t dimension, const Update& update, const Trained& trained) {
  return std::make_unique<RoTo>(dimension, update, trained);
}

}  // namespace tandem::reference
