// SPDX-License-Identifier: MIT
#include "paper/report/json.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "paper/lambda_choice.h"
#include "paper/theory_experiment.h"

namespace tandem::paper {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const theory::Slope& slope) {
  return {{"value", slope.value}, {"low", slope.low}, {"high", slope.high}};
}

Json json_of(const LambdaScore& score) {
  Json json{{"lambda", score.lambda}};
  const auto& best = score.best;
  json["validation_loss"] = best ? Json(best->loss) : Json(nullptr);
  json["validation_accuracy"] = best ? json_of(best->accuracy) : Json(nullptr);
  json["options"] = best ? Json(best->options) : Json(nullptr);
  json["epoch"] = best ? Json(best->epoch) : Json(nullptr);
  json["greatest_accuracy"] = json_of(score.accuracy);
  json["seeds"] = score.measured;
  json["seeds_diverged"] = score.measured_diverged;
  json["seeds_options"] = score.measured > 0 ? Json(score.measured_options) : Json(nullptr);
  json["seeds_loss_mean"] = json_of(score.measured_loss.mean);
  json["seeds_loss_deviation"] = json_of(score.measured_loss.deviation);
  json["seeds_accuracy_mean"] = json_of(score.measured_accuracy.mean);
  json["seeds_accuracy_deviation"] = json_of(score.measured_accuracy.deviation);
  return json;
}

}  // namespace

Json constants_json(const theory::Facts& facts, const theory::Rates& rates) {
  const theory::Bounds bounds = theory::bounds(facts, rates);
  Json conditions = Json::array();
  for (const theory::Condition& condition : theory::conditions(facts, rates)) {
    conditions.push_back({{"name", condition.name},
                          {"left", condition.left},
                          {"right", condition.right},
                          {"holds", condition.holds()}});
  }
  return {{"theorem", facts.c ? 1 : 2},
          {"holds", theory::check(facts, rates).empty()},
          {"c", json_of(facts.c)},
          {"L", facts.L},
          {"D_w", facts.D_w},
          {"D_G", facts.D_G},
          {"D_V", facts.D_V.value_or(facts.D_G * facts.D_G)},
          {"D_F", facts.D_F.value_or(2 * facts.D_w * facts.D_G)},
          {"gamma", rates.gamma},
          {"beta", rates.beta},
          {"alpha", rates.alpha},
          {"mu", rates.mu},
          {"theta", bounds.theta},
          {"D_b", bounds.D_b},
          {"D_A", bounds.D_A},
          {"D_hat", bounds.D_hat},
          {"Q", bounds.Q},
          {"M1", json_of(bounds.M1)},
          {"M2", json_of(bounds.M2)},
          {"M3", json_of(bounds.M3)},
          {"M4", json_of(bounds.M4)},
          {"conditions", conditions}};
}

std::vector<Json> theory_events(const TheoryRun& run, std::size_t repetitions) {
  const theory::Experiment& experiment = run.experiment;
  std::vector<Json> lines;
  lines.push_back(Json{{"event", "constants"}, {"experiment", run.name}});
  lines.back().update(constants_json(experiment.facts, experiment.rates));
  for (const theory::MethodResult& result : experiment.results) {
    lines.push_back(Json{{"event", "theory"},
                         {"experiment", run.name},
                         {"method", result.name},
                         {"rates", result.rates},
                         {"steps", experiment.steps.back()},
                         {"repetitions", repetitions},
                         {"slope_weights", json_of(result.weights)},
                         {"slope_estimate", json_of(result.estimate)},
                         {"weights_error", result.curve.weights.back()},
                         {"estimate_error", result.curve.estimate.back()},
                         {"certified", result.certified},
                         {"reason", result.reason}});
    if (result.least.empty()) continue;
    Json least = Json::array();
    for (const theory::Least& up_to : result.least) {
      least.push_back({{"steps", up_to.steps},
                       {"weights_error", json_of(up_to.weights)},
                       {"estimate_error", json_of(up_to.estimate)}});
    }
    lines.back()["least"] = least;
  }
  const Controls controls = compare_controls(experiment);
  lines.push_back(Json{{"event", "controls"},
                       {"experiment", run.name},
                       {"weights_difference", controls.weights_difference},
                       {"estimate_difference", controls.estimate_difference},
                       {"weights_ratio", controls.weights_ratio},
                       {"estimate_ratio", controls.estimate_ratio},
                       {"text", what_controls_show(experiment)},
                       {"seconds", run.seconds}});
  return lines;
}

Json lambda_event(const LambdaOutcome& outcome, const std::string& budget,
                  unsigned long long seed) {
  const LambdaChoice& choice = *outcome.choice;
  Json json{{"event", "lambda"},
            {"data", outcome.data},
            {"model", choice.model},
            {"budget", budget},
            {"pruned", choice.pruned},
            {"chosen", json_of(choice.chosen)},
            {"by_accuracy", json_of(choice.by_accuracy)},
            {"by_seeds", json_of(choice.by_measured)}};
  const PaperLambda* paper = paper_lambda(outcome.data);
  json["paper"] = paper != nullptr ? Json(paper->chosen) : Json(nullptr);
  json["paper_draws"] = paper != nullptr ? Json(paper->draws) : Json(nullptr);
  json["draws"] = outcome.draws ? Json(outcome.draws->values) : Json(nullptr);
  json["draws_negative"] = outcome.draws ? Json(outcome.draws->negative) : Json(nullptr);
  json["draws_seed"] = outcome.draws ? Json(seed) : Json(nullptr);
  json["lambdas"] = Json::array();
  for (const LambdaScore& score : choice.scores) json["lambdas"].push_back(json_of(score));
  return json;
}

}  // namespace tandem::paper
