// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_ro_to() {
  return {
      .order = 2,
      .name = "ro-to",
      .class_name = "RankOneTO",
      .summary = "RO-TO: G = a (c . w) + b, where A is of rank one.",
      .rule =
          "r = g - a c.w - b; a += alpha (c.w) r; c += alpha (r.a) w; b += beta r; "
          "w -= lr (a c.w + b)",
      .reference = kPaper,
      .state_bytes = "12 d",
      .options = trainable_options(
          rate("lr", 0.01, "gamma of the paper."),
          "(c.w)^2 for a and normalize_eps + |a|^2 |w|^2 for c (the change of c.w capped)",
          {starting_values("initial_a", "d values; empty is 0."),
           starting_values(
               "initial_c",
               "d values; empty is w_1 / |w_1|^2, because with a = c = 0 nothing is "
               "learned; where w_1 = 0, c is w / |w| as soon as the weights have moved."),
           starting_values("initial_b", "d values; empty is 0.")}),
      .state = {{.name = "a", .help = "The left factor of A."},
                {.name = "b", .help = "The constant part of the estimate."},
                {.name = "c", .help = "The right factor of A."}},
      .stages =
          [](const Values& o) {
            detail::TrainableSpec spec = trainable(o, Structure::rank_one);
            spec.initial_a = o.list("initial_a");
            spec.initial_b = o.list("initial_b");
            spec.initial_c = o.list("initial_c");
            return Stages{spec};
          },
      .tuning = trainable_tuning(1e-3, 1, false),
      .weights_per_estimate = "d",
      .torch_positional = {"lr", "alpha", "beta"},
      .narrow_state = false,
  };
}

}  // namespace tandem::rules
