// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_momentum() {
  return {
      .order = 1964,
      .name = "momentum",
      .class_name = "Momentum",
      .summary = "Momentum: b is an average of gradients.",
      .rule = "b = m b + (1 - m) g; w -= lr b",
      .reference = "Polyak 1964",
      .state_bytes = "4 d",
      .options = {rate("lr", 0.01, "The step; a common choice, tune it."),
                  number("momentum", 0.9, Range::fraction, "How much of b is kept."),
                  choice("form", "MomentumForm", 0,
                         "ema is the paper's; its lr is 1 / (1 - momentum) of that of torch, "
                         "b = m b + g from g_1.")},
      .state = {{"m", Shape::like_weights, "The average of gradients, b.", "momentum_buffer"}},
      .stages =
          [](const Values& o) {
            const double keep = o.number("momentum");
            const bool ema = o.choice<MomentumForm>("form") == MomentumForm::ema;
            return Stages{detail::AverageSpec{{.keep = keep, .take = ema ? 1 - keep : 1}}};
          },
      .tuning = lr_tuning(1e-3, 1, false),
      .torch_decouples = false,
      .torch_positional = {"lr", "momentum", "weight_decay"},
  };
}

}  // namespace tandem::rules
