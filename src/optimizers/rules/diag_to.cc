// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_diag_to() {
  return {
      .order = 1,
      .name = "diag-to",
      .class_name = "DiagonalTO",
      .summary = "Diag-TO: G = a * w + b, where A is a diagonal.",
      .rule = "r = g - a*w - b; a += alpha r*w; b += beta r; w -= lr (a*w + b)",
      .reference = kPaper,
      .state_bytes = "8 d",
      .options =
          trainable_options(rate("lr", 0.01, "gamma of the paper."), "w_i^2",
                            {starting_values("initial_a", "d values, the diagonal; empty is 0."),
                             starting_values("initial_b", "d values; empty is 0.")}),
      .state = {{.name = "a", .help = "The diagonal of A."},
                {.name = "b", .help = "The constant part of the estimate."}},
      .stages =
          [](const Values& o) {
            detail::TrainableSpec spec = trainable(o, Structure::diagonal);
            spec.initial_a = o.list("initial_a");
            spec.initial_b = o.list("initial_b");
            return Stages{spec};
          },
      .tuning = trainable_tuning(1e-3, 1, false),
      .weights_per_estimate = "1",
      .torch_positional = {"lr", "alpha", "beta"},
  };
}

}  // namespace tandem::rules
