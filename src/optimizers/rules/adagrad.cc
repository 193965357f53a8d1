// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_adagrad() {
  return {
      .order = 2011,
      .name = "adagrad",
      .class_name = "Adagrad",
      .summary = "Adagrad: steps over the root of the sum of squared gradients.",
      .rule = "v += g^2; w -= lr g / (sqrt(v) + eps)",
      .reference = "Duchi, Hazan and Singer 2011",
      .state_bytes = "4 d",
      .options = {rate("lr", 0.01, "The step; torch's default."),
                  number("initial_accumulator", 0, Range::non_negative, "Where v starts.")
                      .in_torch("initial_accumulator_value"),
                  number("eps", 1e-10, Range::non_negative,
                         "Added to the root of v; torch's default.")},
      .state = {{"v", Shape::like_weights, "The sum of squared gradients.", "sum"}},
      .stages =
          [](const Values& o) {
            return Stages{detail::IdentitySpec{},
                          {.stage = kernels::ScalingStage::second_moment,
                           .keep = 1,
                           .take = 1,
                           .eps = o.number("eps"),
                           .initial = o.number("initial_accumulator")}};
          },
      .tuning = lr_tuning(1e-3, 1, true),
      .torch_decouples = false,
      .torch_positional = {"lr", "weight_decay", "initial_accumulator_value", "eps"},
      .torch_counterpart = "torch.optim.Adagrad, without lr_decay",
  };
}

}  // namespace tandem::rules
