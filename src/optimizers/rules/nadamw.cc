// SPDX-License-Identifier: MIT
#include <cmath>

#include "optimizers/rules/shared.h"

namespace tandem::rules {
namespace {

/// The momentum of step t grows from half of beta1 towards it.
double momentum(double beta1, double decay, double t) {
  return beta1 * (1 - 0.5 * std::pow(0.96, t * decay));
}

}  // namespace

Declaration declare_nadamw() {
  std::vector<Option> options = adam_options();
  options[0] = rate("lr", 0.002, "The step; torch's default.");
  options.push_back(number("momentum_decay", 0.004, Range::non_negative,
                           "How fast the momentum of the look-ahead grows towards beta1."));
  std::vector<StateArray> state = adam_state();
  state.push_back({.name = "mu_product",
                   .shape = Shape::scalar,
                   .help = "The product of the momenta so far.",
                   .torch = "mu_product",
                   .initial = 1});
  return {
      .order = 2016,
      .name = "nadamw",
      .class_name = "NAdamW",
      .summary = "NAdamW: Adam with Nesterov's look-ahead and decoupled weight decay.",
      .rule =
          "m, v as in adam; mu = b1 (1 - 0.96^(t decay) / 2), M the product of all mu; "
          "w -= lr ((1 - mu) g / (1 - M) + mu' m / (1 - M mu')) / (sqrt(v) + eps), "
          "mu' of the next step; w -= lr weight_decay w",
      .reference = "Dozat 2016; Loshchilov and Hutter 2017",
      .state_bytes = "8 d",
      .options = options,
      .state = state,
      .stages =
          [](const Values& o) {
            const double beta1 = o.number("beta1");
            const double decay = o.number("momentum_decay");
            const auto moving = [=](const Clock& clock, std::span<double> carried) {
              const auto t = static_cast<double>(clock.step);
              const double mu = momentum(beta1, decay, t);
              const double next = momentum(beta1, decay, t + 1);
              double& product = carried[0];
              product *= mu;
              return detail::AverageCoefficients{.keep = beta1,
                                                 .take = 1 - beta1,
                                                 .out_new = next / (1 - product * next),
                                                 .out_g = (1 - mu) / (1 - product)};
            };
            return Stages{detail::AverageSpec{.moving = moving},
                          root_mean_square(o.number("beta2"), o.number("eps"), true)};
          },
      .tuning = lr_tuning(1e-4, 0.1, true),
      .torch_positional = {"lr", "betas", "eps", "weight_decay", "momentum_decay"},
      .torch_counterpart = "torch.optim.NAdam(decoupled_weight_decay=True)",
      .weight_decay = 0.01,
  };
}

}  // namespace tandem::rules
