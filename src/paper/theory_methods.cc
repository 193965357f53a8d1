// SPDX-License-Identifier: MIT
// The methods of an experiment on the theorems, and what the theorem says of each.
#include <fmt/format.h>
#include <tandem/optimizers.h>

#include "paper/theory_experiment.h"

namespace tandem::theory {
namespace {

template <class Made, class Options>
std::function<std::unique_ptr<Optimizer>()> maker(std::size_t dimension, const Options& options) {
  return [=] { return std::make_unique<Made>(dimension, options); };
}

std::string text_of(const Rates& rates) {
  return fmt::format("gamma = {:.4g}, beta = {:.4g}, alpha = {:.4g}, mu = {:.4g}", rates.gamma,
                     rates.beta, rates.alpha, rates.mu);
}

/// Why the theorem does not hold for these rates; empty where it does.
std::string objection(const Facts& facts, const Rates& rates) {
  std::string text;
  for (const Condition& failed : check(facts, rates)) {
    text += (text.empty() ? "" : "; ") + failed.text();
  }
  return text;
}

}  // namespace

std::vector<Method> methods(std::size_t dimension, const Facts& facts, const Rates& rates,
                            const ControlOptions& controls) {
  const Projection ball = Projection::ball(facts.D_w);
  const Schedule gamma = rates.gamma_schedule();
  const Schedule beta = rates.beta_schedule();
  const Schedule alpha = rates.alpha_schedule();
  Rates frozen = rates;
  frozen.alpha = 0;
  const std::string failed = objection(facts, rates);
  const std::string failed_frozen = objection(facts, frozen);
  const auto reason = [](const std::string& objections, const char* otherwise) {
    return objections.empty() ? std::string(otherwise) : objections;
  };
  const std::string text = text_of(rates);
  const std::string rate = fmt::format("gamma = {:.4g}, mu = {:.4g}", rates.gamma, rates.mu);
  const char* other = "another algorithm: the theorem does not speak of it";

  std::vector<Method> all;
  all.push_back({"full-to", text, failed.empty(), reason(failed, "the theorem itself"),
                 maker<FullTO>(dimension, FullTOOptions{.lr = gamma,
                                                        .alpha = alpha,
                                                        .beta = beta,
                                                        .form = Form::dense,
                                                        .projection = ball})});
  all.push_back(
      {"diag-to", text, failed.empty(), reason(failed, "its proof, read per coordinate"),
       maker<DiagonalTO>(
           dimension,
           DiagonalTOOptions{.lr = gamma, .alpha = alpha, .beta = beta, .projection = ball})});
  all.push_back(
      {"ro-to", text, false, reason(failed, "the paper claims the extension and does not prove it"),
       maker<RankOneTO>(
           dimension,
           RankOneTOOptions{.lr = gamma, .alpha = alpha, .beta = beta, .projection = ball})});
  all.push_back({"alpha = 0, same beta_t", text_of(frozen), failed_frozen.empty(),
                 reason(failed_frozen, "the theorem with A_t = 0"),
                 maker<DiagonalTO>(
                     dimension, DiagonalTOOptions{
                                    .lr = gamma, .alpha = 0, .beta = beta, .projection = ball})});
  all.push_back(
      {"momentum, constant beta", fmt::format("{}, beta_t = {:.4g}", rate, 1 - controls.momentum),
       false, "beta_t does not fall",
       maker<Momentum>(
           dimension,
           MomentumOptions{.lr = gamma, .momentum = controls.momentum, .projection = ball})});
  all.push_back(
      {"adam, constant rate", fmt::format("rate = {:.4g}", controls.adam_rate), false, other,
       maker<Adam>(dimension, AdamOptions{.lr = controls.adam_rate, .projection = ball})});
  all.push_back({"adam, rate 1/t", rate, false, other,
                 maker<Adam>(dimension, AdamOptions{.lr = gamma, .projection = ball})});
  return all;
}

}  // namespace tandem::theory
