// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_rmsprop() {
  return {
      .order = 2012,
      .name = "rmsprop",
      .class_name = "RMSProp",
      .summary = "RMSProp: steps over the root of an average of squared gradients.",
      .rule = "v = b2 v + (1 - b2) g^2; w -= lr g / (sqrt(v) + eps)",
      .reference = "Hinton 2012",
      .state_bytes = "4 d",
      .options = {rate("lr", 0.01, "The step; torch's default."),
                  number("beta2", 0.99, Range::fraction,
                         "Of the average of squared gradients; torch calls it alpha.")
                      .in_torch("alpha"),
                  number("eps", 1e-8, Range::non_negative,
                         "Added to the root of v; torch's default.")},
      .state = {{"v", Shape::like_weights, "The average of squared gradients.", "square_avg"}},
      .stages =
          [](const Values& o) {
            return Stages{detail::IdentitySpec{},
                          root_mean_square(o.number("beta2"), o.number("eps"), false)};
          },
      .tuning = lr_tuning(1e-4, 0.1, true),
      .torch_decouples = false,
      .torch_positional = {"lr", "alpha", "eps", "weight_decay"},
      .torch_counterpart = "torch.optim.RMSprop, without momentum and centered",
  };
}

}  // namespace tandem::rules
