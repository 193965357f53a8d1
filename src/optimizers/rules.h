// SPDX-License-Identifier: MIT
// Every rule in one place: its options by name, and its recipe of estimator, scaling and update.
//
// `fields(options, visit)` calls visit(name, field[, range]) for each option: the text forms, the
// checks and the listing all come from it. `recipe(options)` gives the stages; name, segments and
// the common fields are filled in by make_recipe.
#pragma once

#include <tandem/options.h>

#include <string>
#include <utility>
#include <vector>

#include "optimizers/check.h"
#include "optimizers/recipe.h"

namespace tandem::rules {

// ---- what rules share

template <class Options, class Visit>
void update_fields(Options& o, Visit& visit) {
  visit("decay", o.decay, Range::factor);
  visit("l2", o.l2, Range::non_negative);
  visit("weight_decay", o.weight_decay, Range::non_negative);
  visit("projection", o.projection);
  visit("on_nonfinite", o.on_nonfinite);
}

template <class Options, class Visit>
void trainable_fields(Options& o, Visit& visit) {
  visit("lr", o.lr);
  visit("alpha", o.alpha);
  visit("beta", o.beta);
  visit("normalize", o.normalize);
  visit("normalize_eps", o.normalize_eps, Range::positive);
}

template <class Options>
detail::TrainableSpec trainable(const Options& o, detail::TrainableSpec::Structure structure) {
  return {.structure = structure,
          .alpha = o.alpha,
          .beta = o.beta,
          .normalize = o.normalize,
          .eps = o.normalize_eps};
}

/// sqrt of an average of g^2, as in RMSProp and Adam.
inline detail::ScalingSpec root_mean_square(double beta2, double eps, bool correct) {
  return {.stage = kernels::ScalingStage::second_moment,
          .keep = beta2,
          .take = 1 - beta2,
          .eps = eps,
          .correct = correct};
}

using Structure = detail::TrainableSpec::Structure;
using Stages = std::pair<detail::EstimatorSpec, detail::ScalingSpec>;

// ---- Full-TO

template <class Visit>
void fields(FullTOOptions& o, Visit& visit) {
  trainable_fields(o, visit);
  visit("form", o.form);
  visit("memory_limit", o.memory_limit);
  visit("max_steps", o.max_steps);
  update_fields(o, visit);
}
inline Stages stages(const FullTOOptions& o) {
  detail::TrainableSpec spec = trainable(o, Structure::full);
  spec.initial_a = o.initial_A;
  spec.initial_b = o.initial_b;
  spec.form = o.form;
  spec.memory_limit = o.memory_limit;
  spec.max_steps = o.max_steps;
  return {spec, {}};
}

// ---- Diag-TO

template <class Visit>
void fields(DiagonalTOOptions& o, Visit& visit) {
  trainable_fields(o, visit);
  update_fields(o, visit);
}
inline Stages stages(const DiagonalTOOptions& o) {
  detail::TrainableSpec spec = trainable(o, Structure::diagonal);
  spec.initial_a = o.initial_a;
  spec.initial_b = o.initial_b;
  return {spec, {}};
}

// ---- RO-TO

template <class Visit>
void fields(RankOneTOOptions& o, Visit& visit) {
  trainable_fields(o, visit);
  update_fields(o, visit);
}
inline Stages stages(const RankOneTOOptions& o) {
  detail::TrainableSpec spec = trainable(o, Structure::rank_one);
  spec.initial_a = o.initial_a;
  spec.initial_b = o.initial_b;
  spec.initial_c = o.initial_c;
  return {spec, {}};
}

// ---- Block-TO

template <class Visit>
void fields(BlockTOOptions& o, Visit& visit) {
  trainable_fields(o, visit);
  visit("block", o.block);
  update_fields(o, visit);
}
inline Stages stages(const BlockTOOptions& o) {
  detail::TrainableSpec spec = trainable(o, Structure::block);
  spec.block = o.block;
  return {spec, {}};
}

// ---- Adam-TO

template <class Visit>
void fields(AdamTOOptions& o, Visit& visit) {
  trainable_fields(o, visit);
  visit("beta2", o.beta2, Range::fraction);
  visit("eps", o.eps, Range::non_negative);
  update_fields(o, visit);
}
inline Stages stages(const AdamTOOptions& o) {
  return {trainable(o, Structure::diagonal), root_mean_square(o.beta2, o.eps, true)};
}

// ---- SGD

template <class Visit>
void fields(SGDOptions& o, Visit& visit) {
  visit("lr", o.lr);
  update_fields(o, visit);
}
inline Stages stages(const SGDOptions&) { return {}; }

// ---- Momentum

template <class Visit>
void fields(MomentumOptions& o, Visit& visit) {
  visit("lr", o.lr);
  visit("momentum", o.momentum, Range::fraction);
  visit("form", o.form);
  update_fields(o, visit);
}
inline Stages stages(const MomentumOptions& o) {
  const double take = o.form == MomentumForm::ema ? 1 - o.momentum : 1;
  return {detail::AverageSpec{.keep = o.momentum, .take = take}, {}};
}

// ---- Nesterov

template <class Visit>
void fields(NesterovOptions& o, Visit& visit) {
  visit("lr", o.lr);
  visit("momentum", o.momentum, Range::fraction);
  update_fields(o, visit);
}
inline Stages stages(const NesterovOptions& o) {
  return {detail::AverageSpec{.keep = o.momentum, .out_new = o.momentum, .out_g = 1}, {}};
}

// ---- Adagrad

template <class Visit>
void fields(AdagradOptions& o, Visit& visit) {
  visit("lr", o.lr);
  visit("initial_accumulator", o.initial_accumulator, Range::non_negative);
  visit("eps", o.eps, Range::non_negative);
  update_fields(o, visit);
}
inline Stages stages(const AdagradOptions& o) {
  return {detail::IdentitySpec{},
          {.stage = kernels::ScalingStage::second_moment,
           .keep = 1,
           .take = 1,
           .eps = o.eps,
           .initial = o.initial_accumulator}};
}

// ---- RMSProp

template <class Visit>
void fields(RMSPropOptions& o, Visit& visit) {
  visit("lr", o.lr);
  visit("beta2", o.beta2, Range::fraction);
  visit("eps", o.eps, Range::non_negative);
  update_fields(o, visit);
}
inline Stages stages(const RMSPropOptions& o) {
  return {detail::IdentitySpec{}, root_mean_square(o.beta2, o.eps, false)};
}

// ---- Adam and AdamW

template <class Options, class Visit>
void adam_fields(Options& o, Visit& visit) {
  visit("lr", o.lr);
  visit("beta1", o.beta1, Range::fraction);
  visit("beta2", o.beta2, Range::fraction);
  visit("eps", o.eps, Range::non_negative);
  visit("correct_first", o.correct_first);
  visit("correct_second", o.correct_second);
  update_fields(o, visit);
}
template <class Options>
Stages adam_stages(const Options& o) {
  return {detail::AverageSpec{.keep = o.beta1, .take = 1 - o.beta1, .correct = o.correct_first},
          root_mean_square(o.beta2, o.eps, o.correct_second)};
}

template <class Visit>
void fields(AdamOptions& o, Visit& visit) {
  adam_fields(o, visit);
}
inline Stages stages(const AdamOptions& o) { return adam_stages(o); }

template <class Visit>
void fields(AdamWOptions& o, Visit& visit) {
  adam_fields(o, visit);
}
inline Stages stages(const AdamWOptions& o) { return adam_stages(o); }

// ---- Lion

template <class Visit>
void fields(LionOptions& o, Visit& visit) {
  visit("lr", o.lr);
  visit("beta1", o.beta1, Range::fraction);
  visit("beta2", o.beta2, Range::fraction);
  update_fields(o, visit);
}
inline Stages stages(const LionOptions& o) {
  return {detail::AverageSpec{.keep = o.beta2,
                              .take = 1 - o.beta2,
                              .out_new = 0,
                              .out_old = o.beta1,
                              .out_g = 1 - o.beta1},
          {.stage = kernels::ScalingStage::sign}};
}

}  // namespace tandem::rules
