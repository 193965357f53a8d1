// SPDX-License-Identifier: MIT
// Every rule as its paper prints it, in double precision and plain loops, written without a look at
// the library: what the library is compared with. Nothing here is meant to be fast; Full-TO keeps
// the d x d matrix and computes the second product A_t w_t that the library avoids.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

namespace tandem::reference {

using Vector = std::vector<double>;

/// The rates of one step, already evaluated.
struct Rates {
  double lr = 0;
  double alpha = 0;
  double beta = 0;
  Vector lr_each = {};  // one a coordinate, in place of lr; empty: all alike
};

/// What all rules share: g <- g + l2 w before the rule sees it, and then
/// w <- P(w (1 - lr weight_decay) - lr D).
struct Update {
  double l2 = 0;
  double weight_decay = 0;
  Vector weight_decay_each = {};                            // one a coordinate; empty: all alike
  double radius = std::numeric_limits<double>::infinity();  // of a ball about 0
  double low = -std::numeric_limits<double>::infinity();    // of a box
  double high = std::numeric_limits<double>::infinity();
};

/// What a trainable rule saw in its last step; names as in tandem::Diagnostics.
struct Seen {
  double residual_norm = 0;
  double gradient_norm = 0;
  double delta = 0;
};

class Rule {
 public:
  explicit Rule(const Update& u) : update(u) {}
  virtual ~Rule() = default;

  void step(Vector& w, Vector g, const Rates& rates);
  const Seen& last() const { return seen; }

  Update update;

 protected:
  /// D from g, to which l2 w has been added, and the rule's memory.
  virtual Vector direction(const Vector& w, const Vector& g, const Rates& rates) = 0;

  Seen seen;
};

/// The parts of the trainable rules that are not the paper's defaults. Empty vectors: 0, but c_0 of
/// RO-TO: w_1 / |w_1|^2, or w / |w| of the first weights that are not 0.
struct Trained {
  bool normalize = false;
  double normalize_eps = 1e-2;
  Vector initial_A = {};  // row by row
  Vector initial_a = {};
  Vector initial_c = {};
  Vector initial_b = {};
};

using RulePointer = std::unique_ptr<Rule>;

RulePointer full_to(std::size_t dimension, const Update& update, const Trained& trained = {});
RulePointer diag_to(std::size_t dimension, const Update& update, const Trained& trained = {});
RulePointer ro_to(std::size_t dimension, const Update& update, const Trained& trained = {});
RulePointer block_to(std::size_t dimension, std::size_t block, const Update& update,
                     const Trained& trained = {});
RulePointer adam_to(std::size_t dimension, double beta2, double eps, const Update& update,
                    const Trained& trained = {});

RulePointer sgd(const Update& update);
/// b = m b + (1 - m) g, D = b.
RulePointer momentum_ema(std::size_t dimension, double momentum, const Update& update);
/// b = m b + g but b_1 = g_1, D = b: torch.optim.SGD(momentum=m).
RulePointer momentum_torch(double momentum, const Update& update);
/// The same b, D = g + m b: torch.optim.SGD(momentum=m, nesterov=True).
RulePointer nesterov(double momentum, const Update& update);
RulePointer adagrad(std::size_t dimension, double initial_accumulator, double eps,
                    const Update& update);
RulePointer rmsprop(std::size_t dimension, double beta2, double eps, const Update& update);
/// AdamW is this one with update.weight_decay.
RulePointer adam(std::size_t dimension, double beta1, double beta2, double eps, bool correct_first,
                 bool correct_second, const Update& update);
RulePointer lion(std::size_t dimension, double beta1, double beta2, const Update& update);

double dot(const Vector& x, const Vector& y);

}  // namespace tandem::reference
