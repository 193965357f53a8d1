// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_adam_to() {
  return {
      .order = 11,
      .name = "adam-to",
      .class_name = "AdamTO",
      .summary = "Adam-TO: Adam with Diag-TO's estimate in the place of its first moment.",
      .rule = "G as in diag-to; v as in adam; w -= lr G / (sqrt(v) + eps)",
      .reference = "this project",
      .state_bytes = "12 d",
      .options = trainable_options(
          rate("lr", 0.001, "gamma of the paper; of Adam's size, whose steps it takes."), "w_i^2",
          {number("beta2", 0.999, Range::fraction, "Of the average of squared gradients."),
           number("eps", 1e-8, Range::non_negative, "Added to the root of the second moment.")}),
      .state = {{.name = "a", .help = "The diagonal of A."},
                {.name = "b", .help = "The constant part of the estimate."},
                {.name = "v", .help = "The average of squared gradients."}},
      .stages =
          [](const Values& o) {
            return Stages{trainable(o, Structure::diagonal),
                          root_mean_square(o.number("beta2"), o.number("eps"), true)};
          },
      .tuning = trainable_tuning(1e-4, 0.1, true),
      .weights_per_estimate = "1",
      .torch_positional = {"lr", "alpha", "beta"},
  };
}

}  // namespace tandem::rules
