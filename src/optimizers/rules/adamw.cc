// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_adamw() {
  return {
      .order = 2017,
      .name = "adamw",
      .class_name = "AdamW",
      .summary = "AdamW: Adam with decoupled weight decay.",
      .rule = "adam, and w -= lr weight_decay w",
      .reference = "Loshchilov and Hutter 2017",
      .state_bytes = "8 d",
      .options = corrected_adam_options(),
      .state = adam_state(),
      .stages = &adam_stages,
      .tuning = lr_tuning(1e-4, 0.1, true),
      .torch_positional = {"lr", "betas", "eps", "weight_decay"},
      .torch_counterpart = "torch.optim.AdamW, without amsgrad",
      .weight_decay = 0.01,
  };
}

}  // namespace tandem::rules
