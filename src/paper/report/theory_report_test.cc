// SPDX-License-Identifier: MIT
// Sentences about controls follow from the numbers, whichever they are.
#include "paper/report/theory_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tandem::paper {
namespace {

using theory::Experiment;
using theory::MethodResult;

MethodResult result_of(const std::string& name, double weights, double estimate, double slope,
                       bool certified = false) {
  return {.name = name,
          .rates = "gamma = 4",
          .certified = certified,
          .reason = certified ? "the theorem itself" : "another algorithm",
          .curve = {.weights = {1, weights}, .estimate = {1, estimate}},
          .weights = {-1, -1.1, -0.9},
          .estimate = {slope, slope - 0.1, slope + 0.1}};
}

Experiment example() {
  Experiment experiment;
  experiment.facts = {.c = 0.5, .L = 1, .D_w = 1, .D_G = 2};
  experiment.rates = theory::certified_rates(experiment.facts);
  experiment.bounds = theory::bounds(experiment.facts, experiment.rates);
  experiment.steps = {1, 1000};
  experiment.results = {result_of("full-to", 1e-3, 1e-2, -1, true),
                        result_of("alpha = 0, same beta_t", 1.01e-3, 1e-2, -1, true),
                        result_of("momentum, constant beta", 1e-3, 0.5, 0.01),
                        result_of("adam, constant rate", 0.3, 0.5, 0.02),
                        result_of("adam, rate 1/t", 0.2, 0.5, -0.03)};
  return experiment;
}

MethodResult& method(Experiment& experiment, const std::string& name) {
  for (MethodResult& result : experiment.results) {
    if (result.name == name) return result;
  }
  throw std::out_of_range(name);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TheoryReport, ControlsAreComparedWithFullTo) {
  const Controls controls = compare_controls(example());
  EXPECT_NEAR(controls.weights_difference, 1 - 1 / 1.01, 1e-12);
  EXPECT_EQ(controls.estimate_difference, 0);
  EXPECT_EQ(controls.weights_ratio, 1);
  EXPECT_DOUBLE_EQ(controls.estimate_ratio, 50);
}

TEST(TheoryReport, SaysWhatTheNumbersSay) {
  const std::string text = what_controls_show(example());
  EXPECT_TRUE(has(text, "by at most 9.9e-03 (weights) and 0.0e+00 (estimate)")) << text;
  EXPECT_TRUE(has(text, "beta_t does the work")) << text;
  EXPECT_TRUE(has(text, "stays where it is")) << text;
  EXPECT_TRUE(has(text, "50 times Full-TO's")) << text;
  EXPECT_TRUE(has(text, "no gain for the weights")) << text;
  EXPECT_TRUE(has(text, "the theorem's bounds are")) << text;
}

TEST(TheoryReport, SaysTheOppositeOfOppositeNumbers) {
  Experiment experiment = example();
  method(experiment, "full-to").curve.estimate.back() = 1e-3;
  method(experiment, "momentum, constant beta").curve.weights.back() = 1;
  method(experiment, "adam, rate 1/t").estimate.value = -0.3;
  std::string text = what_controls_show(experiment);
  EXPECT_TRUE(has(text, "A makes a difference here")) << text;
  EXPECT_FALSE(has(text, "beta_t does the work")) << text;
  EXPECT_FALSE(has(text, "stays where it is")) << text;
  EXPECT_TRUE(has(text, "Not flat within these steps: Adam with a rate of 1/t.")) << text;
  EXPECT_FALSE(has(text, "no gain for the weights")) << text;

  method(experiment, "full-to").estimate.value = -0.4;
  text = what_controls_show(experiment);
  EXPECT_TRUE(has(text, "Full-TO is not at the theorem's rate")) << text;

  experiment.results.pop_back();
  EXPECT_THROW(what_controls_show(experiment), std::invalid_argument);
}

TEST(TheoryReport, ConstantsAndConditionsShowBothSides) {
  const Experiment experiment = example();
  const std::string constants =
      constants_table(experiment.facts, experiment.rates, "of all").terminal(0);
  for (const char* part : {"c ", "L ", "D_w", "D_G", "D_V", "D_G^2", "gamma", "mu", "theta", "D_b",
                           "D_A", "D_hat", "Q ", "M1", "M2", "constant of all"}) {
    EXPECT_TRUE(has(constants, part)) << constants << "lacks: " << part;
  }
  EXPECT_EQ(verdict(experiment.facts, experiment.rates), "All conditions hold: Theorem 1 does.");
  theory::Rates own = experiment.rates;
  own.gamma = 1;
  EXPECT_TRUE(has(verdict(experiment.facts, own),
                  "Outside Theorem 1: 1/c < gamma fails: 2 is not below 1"));
  EXPECT_TRUE(has(conditions_table(experiment.facts, own).terminal(0), "fails"));
  EXPECT_TRUE(has(constants_table(experiment.facts, own, "").terminal(0), "does not hold"));
  theory::Facts flat = experiment.facts;
  flat.c = std::nullopt;
  EXPECT_TRUE(has(constants_table(flat, own, "").terminal(0), "Theorem 2 does not hold"));
  const std::string two = constants_table(flat, theory::certified_rates(flat), "").terminal(0);
  for (const char* part : {"D_F", "2 D_w D_G", "M3", "M4"}) {
    EXPECT_TRUE(has(two, part)) << two << "lacks: " << part;
  }
  EXPECT_TRUE(has(conditions_table(flat, own).terminal(0), "condition of Theorem 2"));
}

TEST(TheoryReport, TheoremTwoSpeaksOfTheGradient) {
  Experiment experiment = example();
  experiment.facts.c = std::nullopt;
  experiment.rates = theory::certified_rates(experiment.facts);
  experiment.bounds = theory::bounds(experiment.facts, experiment.rates);
  const theory::Interval half{0.5, 0.25, 0.75};
  for (MethodResult& result : experiment.results) result.least = {{1000, half, half}};
  const std::string slopes = slopes_table(experiment).terminal(0);
  EXPECT_TRUE(has(slopes, "slope of E|grad F(w_t)|^2")) << slopes;
  EXPECT_FALSE(has(slopes, "w*")) << slopes;

  const report::Table least = least_table(experiment);
  EXPECT_EQ(least.rows(), 2U);  // of those that the theorem is about
  const double product = 0.5 * log_of_steps(experiment.rates, 1000);
  EXPECT_TRUE(has(least.terminal(0), "5.00e-01 [2.50e-01, 7.50e-01]")) << least.terminal(0);
  EXPECT_TRUE(has(least.terminal(0), fmt::format("{:.2e}", product))) << least.terminal(0);
  EXPECT_TRUE(has(least.terminal(0), fmt::format("{:.3g}", *experiment.bounds.M4)));

  const std::string text = what_controls_show(experiment);
  EXPECT_TRUE(has(text, "(gradient)")) << text;
  EXPECT_TRUE(has(text, "its mean |grad F|^2 1 times")) << text;
  EXPECT_FALSE(has(text, "weights)")) << text;

  const TheoryRun run{.name = "x", .title = "X", .text = "Text.", .experiment = experiment};
  const auto figures = theory_figures(run);
  EXPECT_EQ(figures[0].name, "theory-x-gradient");
  EXPECT_EQ(figures[0].series.back().label, "bound of the least so far");
  EXPECT_DOUBLE_EQ(figures[0].series.back().y[1],
                   *experiment.bounds.M4 / log_of_steps(experiment.rates, 1000));
  EXPECT_EQ(theory_section(run).tables.size(), 4U);
}

TEST(TheoryReport, ReasonsAreGrouped) {
  EXPECT_EQ(reasons(example()),
            "full-to; alpha = 0, same beta_t: certified, the theorem itself.\n\n"
            "momentum, constant beta; adam, constant rate; adam, rate 1/t: outside the theorem, "
            "another algorithm.");
}

TEST(TheoryReport, FiguresHaveTheBoundWhereThereIsOne) {
  TheoryRun run{.name = "x", .title = "X", .text = "Text.", .experiment = example()};
  auto figures = theory_figures(run);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].name, "theory-x-weights");
  EXPECT_EQ(figures[1].name, "theory-x-estimate");
  EXPECT_EQ(figures[0].series.size(), 6U);
  EXPECT_EQ(figures[0].series.back().label, "bound");
  EXPECT_DOUBLE_EQ(figures[0].series.back().y[1],
                   *run.experiment.bounds.M1 / (1000 + run.experiment.rates.mu));
  run.experiment.bounds = {};
  figures = theory_figures(run);
  EXPECT_EQ(figures[1].series.size(), 5U);
}

TEST(TheoryReport, CurvesHaveBoundsOnlyForTheCertified) {
  const std::string csv =
      theory_curves({{.name = "x", .title = "X", .text = "", .experiment = example()}}).csv();
  EXPECT_TRUE(has(csv,
                  "experiment,method,step,weights_error,estimate_error,weights_bound,"
                  "estimate_bound\r\n"));
  EXPECT_TRUE(has(csv, "x,full-to,1000,0.001,0.01,")) << csv;
  EXPECT_FALSE(has(csv, "x,full-to,1000,0.001,0.01,,"));
  EXPECT_TRUE(has(csv, "x,\"momentum, constant beta\",1000,0.001,0.5,,\r\n")) << csv;
}

}  // namespace
}  // namespace tandem::paper
