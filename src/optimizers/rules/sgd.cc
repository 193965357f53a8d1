// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_sgd() {
  return {
      .order = 1951,
      .name = "sgd",
      .class_name = "SGD",
      .summary = "Stochastic gradient descent.",
      .rule = "w -= lr g",
      .reference = "Robbins and Monro 1951",
      .state_bytes = "0",
      .options = {rate("lr", 0.01, "The step; a common choice, tune it.")},
      .stages = [](const Values&) { return Stages{}; },
      .tuning = lr_tuning(1e-3, 1, false),
      .torch_decouples = false,
      .torch_positional = {"lr", "weight_decay"},
      .torch_counterpart = "torch.optim.SGD",
      .narrow_state = false,
  };
}

}  // namespace tandem::rules
