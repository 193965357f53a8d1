// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_adam() {
  return {
      .order = 2014,
      .name = "adam",
      .class_name = "Adam",
      .summary = "Adam: an average of gradients over the root of an average of their squares.",
      .rule = "m, v averages of g, g^2, bias-corrected; w -= lr m / (sqrt(v) + eps)",
      .reference = "Kingma and Ba 2014",
      .state_bytes = "8 d",
      .options = corrected_adam_options(),
      .state = adam_state(),
      .stages = &adam_stages,
      .tuning = lr_tuning(1e-4, 0.1, true),
      .torch_decouples = false,
      .torch_positional = {"lr", "betas", "eps", "weight_decay"},
      .torch_counterpart = "torch.optim.Adam, without amsgrad",
  };
}

}  // namespace tandem::rules
