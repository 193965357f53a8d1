// SPDX-License-Identifier: MIT
// NAdam as Dozat's "Incorporating Nesterov Momentum into Adam" prints it, with the schedule of momenta
// that its algorithm 8 has; weight decay is the update's.
#include <cmath>

#include "tests/reference.h"

namespace tandem::reference {
namespace {

class NAdam : public Rule {
 public:
  NAdam(std::size_t d, double mu, double nu, double eps, double decay, const Update& u)
      : Rule(u), mu_(mu), nu_(nu), eps_(eps), decay_(decay), m_(d), n_(d) {}

 private:
  double mu_at(int t) const { return mu_ * (1 - 0.5 * std::pow(0.96, t * decay_)); }

  Vector direction(const Vector&, const Vector& g, const Rates&) override {
    ++t_;
    double product = 1;  // of mu_1 ... mu_t, anew in every step
    for (int i = 1; i <= t_; ++i) product *= mu_at(i);
    Vector D(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      m_[i] = mu_ * m_[i] + (1 - mu_) * g[i];
      n_[i] = nu_ * n_[i] + (1 - nu_) * g[i] * g[i];
      const double g_hat = g[i] / (1 - product);
      const double m_hat = m_[i] / (1 - product * mu_at(t_ + 1));
      const double n_hat = n_[i] / (1 - std::pow(nu_, t_));
      const double m_bar = (1 - mu_at(t_)) * g_hat + mu_at(t_ + 1) * m_hat;
      D[i] = m_bar / (std::sqrt(n_hat) + eps_);
    }
    return D;
  }

  double mu_, nu_, eps_, decay_;
  Vector m_, n_;
  int t_ = 0;
};

}  // namespace

RulePointer nadam(std::size_t dimension, double mu, double nu, double eps, double momentum_decay,
                  const Update& update) {
  return std::make_unique<NAdam>(dimension, mu, nu, eps, momentum_decay, update);
}

}  // namespace tandem::reference
