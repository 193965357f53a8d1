// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_lion() {
  return {
      .order = 2023,
      .name = "lion",
      .class_name = "Lion",
      .summary = "Lion: the sign of a two-rate average.",
      .rule = "w -= lr sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g",
      .reference = "Chen et al. 2023",
      .state_bytes = "4 d",
      .options = {rate("lr", 1e-4, "The step; the authors' default, about a tenth of Adam's."),
                  number("beta1", 0.9, Range::fraction, "Of the average that gives the direction.")
                      .in_torch("betas[0]"),
                  number("beta2", 0.99, Range::fraction, "Of the average that is remembered.")
                      .in_torch("betas[1]")},
      .state = {{"m", Shape::like_weights, "The average of gradients.", "exp_avg"}},
      .stages =
          [](const Values& o) {
            const double beta1 = o.number("beta1");
            const double beta2 = o.number("beta2");
            return Stages{detail::AverageSpec{{.keep = beta2,
                                               .take = 1 - beta2,
                                               .out_new = 0,
                                               .out_old = beta1,
                                               .out_g = 1 - beta1}},
                          {.stage = kernels::ScalingStage::sign}};
          },
      .tuning = lr_tuning(1e-5, 1e-2, true),
      .torch_positional = {"lr", "betas", "weight_decay"},
  };
}

}  // namespace tandem::rules
