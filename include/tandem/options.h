// SPDX-License-Identifier: MIT
// The options of every optimizer: flat structs for designated initialisers,
// `{.lr = 0.1, .alpha = 0.01}`. `lr`, `alpha`, `beta` are gamma, alpha, beta of the paper.
//
// All structs have these five fields, explained here once:
//   decay          lr, and alpha and beta of the trainable rules, times decay^epoch; 1 keeps them
//   l2             adds l2 * w to the gradient, as torch's weight_decay of SGD and Adam does
//   weight_decay   multiplies the weights by 1 - lr * weight_decay, as AdamW does
//   projection     none, an l2 ball about 0 over all segments together, or a box
//   on_nonfinite   a gradient that holds NaN or infinity: raise an error (a silent NaN costs a
//                  day), skip the step and count it, or ignore: do not look, which saves one read
//                  of the gradient
#pragma once

#include <tandem/projection.h>
#include <tandem/schedule.h>

#include <cstddef>
#include <vector>

namespace tandem {

enum class OnNonFinite { raise, skip, ignore };

/// How Full-TO keeps its matrix. The iterates do not depend on it beyond rounding.
enum class Form {
  automatic,  ///< the cheaper one within the memory limit, and the other one when that changes
  dense,      ///< the d x d matrix
  span        ///< the history of residuals, from which the matrix's action follows; no d x d matrix
};

/// What the momentum buffer is: `ema`, the paper's b = momentum b + (1 - momentum) g from 0; or
/// `torch`, torch.optim.SGD's b = momentum b + g from g_1.
enum class MomentumForm { ema, torch };

/// Full-TO: G = A w + b with a full matrix A.
struct FullTOOptions {
  Schedule lr = 0.01;     // gamma
  Schedule alpha = 0.01;  // how fast A learns; 0 leaves momentum
  Schedule beta = 0.1;    // how fast b learns; 0.1 is momentum 0.9
  double decay = 1;
  Form form = Form::automatic;
  // Bytes of state and workspace together. A fixed default, so that the choice of the form does not
  // depend on the machine.
  std::size_t memory_limit = std::size_t{4} << 30;
  // How long the run will be, if known: a span that cannot hold it is then refused at once.
  std::size_t max_steps = 0;
  // Divides alpha by normalize_eps + |w|^2, which bounds delta.
  // False is the paper's algorithm; with an eps of 1e-8 prototypes diverged.
  bool normalize = false;
  double normalize_eps = 1e-2;
  std::vector<double> initial_A = {};  // d x d values, row by row; empty is 0, as in the paper
  std::vector<double> initial_b = {};  // d values; empty is 0
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Diag-TO: A is a diagonal.
struct DiagonalTOOptions {
  Schedule lr = 0.01;     // gamma
  Schedule alpha = 0.01;  // how fast A learns; 0 leaves momentum
  Schedule beta = 0.1;    // how fast b learns; 0.1 is momentum 0.9
  double decay = 1;
  // Divides alpha by normalize_eps + w_i^2, which bounds delta.
  // False is the paper's algorithm; with an eps of 1e-8 prototypes diverged.
  bool normalize = false;
  double normalize_eps = 1e-2;
  std::vector<double> initial_a = {};  // d values, the diagonal; empty is 0
  std::vector<double> initial_b = {};  // d values; empty is 0
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// RO-TO: A = a c^T.
struct RankOneTOOptions {
  Schedule lr = 0.01;     // gamma
  Schedule alpha = 0.01;  // how fast A learns; 0 leaves momentum
  Schedule beta = 0.1;    // how fast b learns; 0.1 is momentum 0.9
  double decay = 1;
  // Divides alpha by normalize_eps + s^2 for a and |a|^2 |w|^2 for c (s = c.w, its change capped),
  // which bounds delta. False is the paper's algorithm; with an eps of 1e-8 prototypes diverged.
  bool normalize = false;
  double normalize_eps = 1e-2;
  std::vector<double> initial_a = {};  // d values; empty is 0
  // d values; empty is w_1 / |w_1|^2, because with a = c = 0 nothing is learned. Where w_1 = 0, c is
  // w / |w| as soon as the weights have moved, and RO-TO is momentum until then.
  std::vector<double> initial_c = {};
  std::vector<double> initial_b = {};  // d values; empty is 0
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Block-TO: A is block-diagonal, between Diag-TO (block 1) and Full-TO (block d).
struct BlockTOOptions {
  Schedule lr = 0.01;     // gamma
  Schedule alpha = 0.01;  // how fast A learns; 0 leaves momentum
  Schedule beta = 0.1;    // how fast b learns; 0.1 is momentum 0.9
  double decay = 1;
  // Coordinates a block; the last one may be shorter. The state is 4 * (block + 1) bytes a
  // parameter.
  std::size_t block = 16;
  // Divides alpha by normalize_eps + |w|^2 of the block, which bounds delta.
  // False is the paper's algorithm; with an eps of 1e-8 prototypes diverged.
  bool normalize = false;
  double normalize_eps = 1e-2;
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Adam-TO: Diag-TO's estimate with Adam's scaling.
struct AdamTOOptions {
  Schedule lr = 0.001;    // gamma; Adam's, whose steps it takes
  Schedule alpha = 0.01;  // how fast A learns; 0 leaves momentum
  Schedule beta = 0.1;    // how fast b learns; 0.1 is momentum 0.9
  double decay = 1;
  double beta2 = 0.999;  // of the second moment, as in Adam
  double eps = 1e-8;     // as in Adam
  // Divides alpha by normalize_eps + w_i^2, which bounds delta.
  // False is the paper's algorithm; with an eps of 1e-8 prototypes diverged.
  bool normalize = false;
  double normalize_eps = 1e-2;
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Stochastic gradient descent.
struct SGDOptions {
  Schedule lr = 0.01;  // a common choice; tune it
  double decay = 1;
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Momentum: b is an average of gradients.
struct MomentumOptions {
  Schedule lr = 0.01;  // a common choice; tune it
  double decay = 1;
  double momentum = 0.9;
  MomentumForm form = MomentumForm::ema;  // the paper's; its lr is 1 / (1 - momentum) of torch's
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Nesterov momentum as torch.optim.SGD(nesterov=True).
struct NesterovOptions {
  Schedule lr = 0.01;  // a common choice; tune it
  double decay = 1;
  double momentum = 0.9;
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Adagrad as torch.optim.Adagrad.
struct AdagradOptions {
  Schedule lr = 0.01;  // torch's default
  double decay = 1;
  double initial_accumulator = 0;
  double eps = 1e-10;  // torch's default
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// RMSProp as torch.optim.RMSprop.
struct RMSPropOptions {
  Schedule lr = 0.01;  // torch's default
  double decay = 1;
  double beta2 = 0.99;  // torch calls it alpha
  double eps = 1e-8;    // torch's default
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Adam (Kingma and Ba), as torch.optim.Adam.
struct AdamOptions {
  Schedule lr = 0.001;  // the authors' default
  double decay = 1;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  bool correct_first = true;   // divide the first moment by 1 - beta1^t
  bool correct_second = true;  // divide the second moment by 1 - beta2^t
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// AdamW: Adam with decoupled weight decay, as torch.optim.AdamW.
struct AdamWOptions {
  Schedule lr = 0.001;  // torch's default
  double decay = 1;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  bool correct_first = true;   // divide the first moment by 1 - beta1^t
  bool correct_second = true;  // divide the second moment by 1 - beta2^t
  double l2 = 0;
  double weight_decay = 0.01;  // torch's default
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

/// Lion: the sign of a two-rate average.
struct LionOptions {
  Schedule lr = 1e-4;  // the authors' default, about a tenth of Adam's
  double decay = 1;
  double beta1 = 0.9;   // of the average that gives the direction
  double beta2 = 0.99;  // of the average that is remembered
  double l2 = 0;
  double weight_decay = 0;
  Projection projection = {};
  OnNonFinite on_nonfinite = OnNonFinite::raise;
};

}  // namespace tandem
