// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_nesterov() {
  return {
      .order = 1983,
      .name = "nesterov",
      .class_name = "Nesterov",
      .summary = "Nesterov momentum.",
      .rule = "b = m b + g; w -= lr (g + m b)",
      .reference = "Nesterov 1983; Sutskever et al. 2013",
      .state_bytes = "4 d",
      .options = {rate("lr", 0.01, "The step; a common choice, tune it."),
                  number("momentum", 0.9, Range::fraction, "How much of b is kept.")},
      .state = {{"m", Shape::like_weights, "The sum of gradients, b.", "momentum_buffer"}},
      .stages =
          [](const Values& o) {
            const double keep = o.number("momentum");
            return Stages{detail::AverageSpec{{.keep = keep, .out_new = keep, .out_g = 1}}};
          },
      .tuning = lr_tuning(1e-4, 0.1, false),
      .torch_decouples = false,
      .torch_positional = {"lr", "momentum", "weight_decay"},
      .torch_counterpart = "torch.optim.SGD(nesterov=True)",
  };
}

}  // namespace tandem::rules
