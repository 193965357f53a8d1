// SPDX-License-Identifier: MIT
// What declarations of several rules share.
#pragma once

#include <string>
#include <vector>

#include "optimizers/values.h"

namespace tandem::rules {

/// lr, alpha, beta; the rule's own options; normalize and its eps. `normalizer` is what alpha is
/// divided by: "w_i^2".
std::vector<Option> trainable_options(Option lr, const std::string& normalizer,
                                      std::vector<Option> own = {});
/// Grids of the rates of a trainable rule whose lr lies in this range.
std::vector<Tuning> trainable_tuning(double lr_low, double lr_high, bool scales_steps);
std::vector<Tuning> lr_tuning(double low, double high, bool scales_steps);

detail::TrainableSpec trainable(const Values& o, detail::TrainableSpec::Structure structure);

/// sqrt of an average of g^2, as in RMSProp and Adam.
detail::ScalingSpec root_mean_square(double beta2, double eps, bool correct);

/// Those of Adam and its relatives: lr, beta1, beta2, eps.
std::vector<Option> adam_options();
/// The same, and whether the moments are corrected for their start: Adam's and AdamW's.
std::vector<Option> corrected_adam_options();
Stages adam_stages(const Values& o);
/// m and v, with torch's names.
std::vector<StateArray> adam_state();

using Structure = detail::TrainableSpec::Structure;
using Shape = StateArray::Shape;

inline constexpr const char* kPaper = "Wang and Klabjan, A Trainable Optimizer";

}  // namespace tandem::rules
