// SPDX-License-Identifier: MIT
// The common update and the rivals of the trainable rules, as textbooks and torch define them.
#include "tests/reference.h"

#include <algorithm>
#include <cmath>

namespace tandem::reference {

double dot(const Vector& x, const Vector& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

void Rule::step(Vector& w, Vector g, const Rates& rates) {
  const std::size_t d = w.size();
  for (std::size_t i = 0; i < d; ++i) g[i] += update.l2 * w[i];
  const Vector D = direction(w, g, rates);
  for (std::size_t i = 0; i < d; ++i) {
    const double lr = rates.lr_each.empty() ? rates.lr : rates.lr_each[i];
    const double decay =
        update.weight_decay_each.empty() ? update.weight_decay : update.weight_decay_each[i];
    w[i] = w[i] * (1 - lr * decay) - lr * D[i];
  }
  const double norm = std::sqrt(dot(w, w));
  if (norm > update.radius)
    for (std::size_t i = 0; i < d; ++i) w[i] *= update.radius / norm;
  for (std::size_t i = 0; i < d; ++i) w[i] = std::clamp(w[i], update.low, update.high);
}

namespace {

class Sgd : public Rule {
  using Rule::Rule;
  Vector direction(const Vector&, const Vector& g, const Rates&) override { return g; }
};

class MomentumEma : public Rule {
 public:
  MomentumEma(std::size_t d, double m, const Update& u) : Rule(u), m_(m), b_(d) {}

 private:
  Vector direction(const Vector&, const Vector& g, const Rates&) override {
    for (std::size_t i = 0; i < g.size(); ++i) b_[i] = m_ * b_[i] + (1 - m_) * g[i];
    return b_;
  }

  double m_;
  Vector b_;
};

class TorchMomentum : public Rule {
 public:
  TorchMomentum(double m, bool nesterov, const Update& u) : Rule(u), m_(m), nesterov_(nesterov) {}

 private:
  Vector direction(const Vector&, const Vector& g, const Rates&) override {
    if (b_.empty()) {
      b_ = g;
    } else {
      for (std::size_t i = 0; i < g.size(); ++i) b_[i] = m_ * b_[i] + g[i];
    }
    if (!nesterov_) return b_;
    Vector D(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) D[i] = g[i] + m_ * b_[i];
    return D;
  }

  double m_;
  bool nesterov_;
  Vector b_;
};

class Adagrad : public Rule {
 public:
  Adagrad(std::size_t d, double initial, double eps, const Update& u)
      : Rule(u), eps_(eps), v_(d, initial) {}

 private:
  Vector direction(const Vector&, const Vector& g, const Rates&) override {
    Vector D(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      v_[i] += g[i] * g[i];
      D[i] = g[i] / (std::sqrt(v_[i]) + eps_);
    }
    return D;
  }

  double eps_;
  Vector v_;
};

class RmsProp : public Rule {
 public:
  RmsProp(std::size_t d, double beta2, double eps, const Update& u)
      : Rule(u), beta2_(beta2), eps_(eps), v_(d) {}

 private:
  Vector direction(const Vector&, const Vector& g, const Rates&) override {
    Vector D(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      v_[i] = beta2_ * v_[i] + (1 - beta2_) * g[i] * g[i];
      D[i] = g[i] / (std::sqrt(v_[i]) + eps_);
    }
    return D;
  }

  double beta2_, eps_;
  Vector v_;
};

class Adam : public Rule {
 public:
  Adam(std::size_t d, double beta1, double beta2, double eps, bool first, bool second,
       const Update& u)
      : Rule(u),
        beta1_(beta1),
        beta2_(beta2),
        eps_(eps),
        first_(first),
        second_(second),
        m_(d),
        v_(d) {}

 private:
  Vector direction(const Vector&, const Vector& g, const Rates&) override {
    ++t_;
    const double first_correction = first_ ? 1 - std::pow(beta1_, t_) : 1;
    const double second_correction = second_ ? 1 - std::pow(beta2_, t_) : 1;
    Vector D(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      m_[i] = beta1_ * m_[i] + (1 - beta1_) * g[i];
      v_[i] = beta2_ * v_[i] + (1 - beta2_) * g[i] * g[i];
      const double m_hat = m_[i] / first_correction;
      const double v_hat = v_[i] / second_correction;
      D[i] = m_hat / (std::sqrt(v_hat) + eps_);
    }
    return D;
  }

  double beta1_, beta2_, eps_;
  bool first_, second_;
  Vector m_, v_;
  int t_ = 0;
};

class Lion : public Rule {
 public:
  Lion(std::size_t d, double beta1, double beta2, const Update& u)
      : Rule(u), beta1_(beta1), beta2_(beta2), m_(d) {}

 private:
  Vector direction(const Vector&, const Vector& g, const Rates&) override {
    Vector D(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double mix = beta1_ * m_[i] + (1 - beta1_) * g[i];
      D[i] = mix > 0 ? 1 : mix < 0 ? -1 : 0;
      m_[i] = beta2_ * m_[i] + (1 - beta2_) * g[i];
    }
    return D;
  }

  double beta1_, beta2_;
  Vector m_;
};

}  // namespace

RulePointer sgd(const Update& update) { return std::make_unique<Sgd>(update); }

RulePointer momentum_ema(std::size_t dimension, double momentum, const Update& update) {
  return std::make_unique<MomentumEma>(dimension, momentum, update);
}

RulePointer momentum_torch(double momentum, const Update& update) {
  return std::make_unique<TorchMomentum>(momentum, false, update);
}

RulePointer nesterov(double momentum, const Update& update) {
  return std::make_unique<TorchMomentum>(momentum, true, update);
}

RulePointer adagrad(std::size_t dimension, double initial_accumulator, double eps,
                    const Update& update) {
  return std::make_unique<Adagrad>(dimension, initial_accumulator, eps, update);
}

RulePointer rmsprop(std::size_t dimension, double beta2, double eps, const Update& update) {
  return std::make_unique<RmsProp>(dimension, beta2, eps, update);
}

RulePointer adam(std::size_t dimension, double beta1, double beta2, double eps, bool correct_first,
                 bool correct_second, const Update& update) {
  return std::make_unique<Adam>(dimension, beta1, beta2, eps, correct_first, correct_second,
                                update);
}

RulePointer lion(std::size_t dimension, double beta1, double beta2, const Update& update) {
  return std::make_unique<Lion>(dimension, beta1, beta2, update);
}

}  // namespace tandem::reference
