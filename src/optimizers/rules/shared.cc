// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

#include <utility>

namespace tandem::rules {

std::vector<Option> trainable_options(Option lr, const std::string& normalizer,
                                      std::vector<Option> own) {
  std::vector<Option> all = {std::move(lr),
                             rate("alpha", 0.01, "How fast A learns; 0 leaves momentum."),
                             rate("beta", 0.1, "How fast b learns; 0.1 is momentum 0.9.")};
  // Starting values come last.
  std::vector<Option> values;
  for (Option& option : own) {
    const bool start = std::holds_alternative<std::vector<double>>(option.default_value);
    (start ? values : all).push_back(std::move(option));
  }
  all.push_back(flag("normalize", false,
                     "Divides alpha by normalize_eps + " + normalizer +
                         ", which bounds delta; false is the paper's algorithm."));
  all.push_back(number("normalize_eps", 1e-2, Range::positive,
                       "See normalize; with 1e-8 prototypes diverged."));
  for (Option& option : values) all.push_back(std::move(option));
  return all;
}

std::vector<Tuning> lr_tuning(double low, double high, bool scales_steps) {
  return {{.option = "lr",
           .low = low,
           .high = high,
           .points = 6,
           .least_multiple = scales_steps ? 0.1 : 0.3,
           .most_multiple = scales_steps ? 30.0 : 100.0},
          {.option = "decay", .low = 0.8, .high = 1}};
}

std::vector<Tuning> trainable_tuning(double lr_low, double lr_high, bool scales_steps) {
  std::vector<Tuning> tuning = lr_tuning(lr_low, lr_high, scales_steps);
  const Tuning rates[] = {{.option = "alpha", .low = 0.01, .high = 0.1, .zero_too = true},
                          {.option = "beta", .low = 0.1, .high = 0.5}};
  tuning.insert(tuning.begin() + 1, std::begin(rates), std::end(rates));
  return tuning;
}

detail::TrainableSpec trainable(const Values& o, detail::TrainableSpec::Structure structure) {
  return {.structure = structure,
          .alpha = o.rate("alpha"),
          .beta = o.rate("beta"),
          .normalize = o.flag("normalize"),
          .eps = o.number("normalize_eps")};
}

detail::ScalingSpec root_mean_square(double beta2, double eps, bool correct) {
  return {.stage = kernels::ScalingStage::second_moment,
          .keep = beta2,
          .take = 1 - beta2,
          .eps = eps,
          .correct = correct};
}

std::vector<Option> adam_options() {
  return {
      rate("lr", 0.001, "The step; the authors' default."),
      number("beta1", 0.9, Range::fraction, "Of the average of gradients.").in_torch("betas[0]"),
      number("beta2", 0.999, Range::fraction, "Of the average of squared gradients.")
          .in_torch("betas[1]"),
      number("eps", 1e-8, Range::non_negative, "Added to the root of the second moment.")};
}

std::vector<Option> corrected_adam_options() {
  std::vector<Option> options = adam_options();
  options.push_back(
      flag("correct_first", true, "Divides the first moment by 1 - beta1^t.").not_in_torch());
  options.push_back(
      flag("correct_second", true, "Divides the second moment by 1 - beta2^t.").not_in_torch());
  return options;
}

Stages adam_stages(const Values& o) {
  const double beta1 = o.number("beta1");
  return {detail::AverageSpec{{.keep = beta1, .take = 1 - beta1}, o.flag("correct_first")},
          root_mean_square(o.number("beta2"), o.number("eps"), o.flag("correct_second"))};
}

std::vector<StateArray> adam_state() {
  return {{"m", Shape::like_weights, "The average of gradients.", "exp_avg"},
          {"v", Shape::like_weights, "The average of squared gradients.", "exp_avg_sq"}};
}

}  // namespace tandem::rules
