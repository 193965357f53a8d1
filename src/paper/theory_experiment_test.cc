// SPDX-License-Identifier: MIT
// Slopes of trainable optimizers and of controls, and the machinery that measures them.
#include "paper/theory_experiment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "problems/quadratic.h"
#include "train/trainer.h"

namespace tandem::theory {
namespace {

const MethodResult& result_of(const Experiment& experiment, const std::string& name) {
  for (const MethodResult& result : experiment.results) {
    if (result.name == name) return result;
  }
  throw std::out_of_range("no method " + name);
}

const std::vector<std::string> kTrainable = {"full-to", "diag-to", "ro-to",
                                             "alpha = 0, same beta_t"};

void expect_rate_of_theorem(const Slope& slope, const std::string& what) {
  EXPECT_GE(slope.value, -1.15) << what;
  EXPECT_LE(slope.value, -0.85) << what;
  EXPECT_LT(slope.low, slope.value) << what;
  EXPECT_GT(slope.high, slope.value) << what;
}

void expect_plateau(const Slope& slope, const std::string& what) {
  EXPECT_LT(std::abs(slope.value), 0.1) << what;
}

/// Trainable optimizers and alpha = 0 fall as the theorem says, the other controls' estimates not.
void expect_what_the_theorem_says(const Experiment& experiment) {
  for (const std::string& name : kTrainable) {
    expect_rate_of_theorem(result_of(experiment, name).weights, name + ", weights");
    expect_rate_of_theorem(result_of(experiment, name).estimate, name + ", estimate");
  }
  expect_plateau(result_of(experiment, "momentum, constant beta").estimate, "momentum, estimate");
  expect_plateau(result_of(experiment, "adam, constant rate").estimate, "adam, estimate");
  expect_plateau(result_of(experiment, "adam, constant rate").weights, "adam, weights");
  expect_plateau(result_of(experiment, "adam, rate 1/t").estimate, "adam with 1/t, estimate");

  // What is learned with alpha_t beside beta_t makes no difference that repetitions could show.
  const MethodResult& full = result_of(experiment, "full-to");
  const MethodResult& frozen = result_of(experiment, "alpha = 0, same beta_t");
  for (std::size_t k = 0; k < experiment.steps.size(); ++k) {
    EXPECT_NEAR(frozen.curve.weights[k] / full.curve.weights[k], 1, 0.02);
    EXPECT_NEAR(frozen.curve.estimate[k] / full.curve.estimate[k], 1, 0.02);
  }
}

TEST(TheoryExperiment, CertifiedRatesGiveTheRateOfTheTheorem) {
  const Experiment experiment =
      certified_experiment({.steps = 20'000, .repetitions = 48, .decades = 1}, *default_executor());
  expect_what_the_theorem_says(experiment);
  EXPECT_TRUE(experiment.failed.empty());
  EXPECT_LE(experiment.facts.L, 2 * *experiment.facts.c);

  const Curve bound = bound_curves(experiment);
  ASSERT_EQ(bound.weights.size(), experiment.steps.size());
  for (const MethodResult& result : experiment.results) {
    EXPECT_EQ(result.certified, result.name == "full-to" || result.name == "diag-to" ||
                                    result.name == "alpha = 0, same beta_t")
        << result.name << ": " << result.reason;
    if (!result.certified) continue;
    for (std::size_t k = 0; k < experiment.steps.size(); ++k) {
      EXPECT_LT(result.curve.weights[k], bound.weights[k]);
      EXPECT_LT(result.curve.estimate[k], bound.estimate[k]);
    }
  }
}

TEST(TheoryExperiment, SlowCertifiedRatesOverTwoDecades) {
  expect_what_the_theorem_says(
      certified_experiment({.steps = 300'000, .decades = 2}, *default_executor()));
}

TEST(TheoryExperiment, SlowMilderRatesOverTwoDecades) {
  // At Adam's usual rate the start would take a decade of steps.
  const Experiment experiment =
      milder_experiment(unit_task(), {.lambda = 0.05}, {.steps = 300'000, .decades = 2},
                        *default_executor(), {.adam_rate = 0.01});
  expect_what_the_theorem_says(experiment);
  for (const TableRow& row : table(experiment)) EXPECT_EQ(row.label, "outside the theorem");
  EXPECT_TRUE(bound_curves(experiment).weights.empty());
}

/// In shuffled epochs E_t g_t is not grad F, and the errors do not fall as the proof says.
TEST(TheoryExperiment, SlowShuffledEpochsAreNotWhatTheTheoremSays) {
  const Experiment experiment = milder_experiment(unit_task(), {.batches = Batches::shuffled},
                                                  {.steps = 100'000}, *default_executor());
  EXPECT_LT(result_of(experiment, "full-to").weights.value, -1.5);
  EXPECT_LT(result_of(experiment, "full-to").estimate.value, -1.3);
}

TEST(TheoryExperiment, TheoremTwoHoldsWhereFIsNotConvex) {
  const Experiment experiment =
      nonconvex_experiment({.steps = 30'000, .repetitions = 16}, *default_executor());
  EXPECT_FALSE(experiment.facts.c);
  EXPECT_TRUE(experiment.failed.empty());
  // The projection never acts.
  EXPECT_LT(farthest(experiment.facts, experiment.rates, 0.2, 30'000), experiment.facts.D_w);
  ASSERT_TRUE(experiment.bounds.M3 && experiment.bounds.M4);
  for (const MethodResult& result : experiment.results) {
    EXPECT_EQ(result.certified, result.name == "full-to" || result.name == "diag-to" ||
                                    result.name == "alpha = 0, same beta_t")
        << result.name << ": " << result.reason;
    if (!result.certified) continue;
    ASSERT_EQ(result.least.size(), 4U);
    EXPECT_EQ(result.least.back().steps, 30'000U);
    for (const Least& least : result.least) {
      const double log = log_of_steps(experiment.rates, least.steps);
      EXPECT_LT(least.weights.high * log, *experiment.bounds.M4) << result.name;
      EXPECT_LT(least.estimate.high * log, *experiment.bounds.M3) << result.name;
      EXPECT_LE(least.weights.low, least.weights.value);
      EXPECT_LE(least.weights.value, least.weights.high);
    }
    // The least errors fall faster than 1 / log T in the last decade.
    const Least& before = result.least[2];
    const Least& end = result.least[3];
    const double logs =
        log_of_steps(experiment.rates, before.steps) / log_of_steps(experiment.rates, end.steps);
    EXPECT_LT(end.weights.high, before.weights.low * logs) << result.name;
    EXPECT_LT(end.estimate.high, before.estimate.low * logs) << result.name;
    EXPECT_LT(result.weights.high, -0.3) << result.name;
  }
  // The control: A learns nothing that would show.
  const Curve& full = result_of(experiment, "full-to").curve;
  const Curve& frozen = result_of(experiment, "alpha = 0, same beta_t").curve;
  for (std::size_t k = 0; k < experiment.steps.size(); ++k) {
    EXPECT_NEAR(frozen.weights[k] / full.weights[k], 1, 0.02);
    EXPECT_NEAR(frozen.estimate[k] / full.estimate[k], 1, 0.02);
  }
  expect_plateau(result_of(experiment, "momentum, constant beta").estimate, "momentum, estimate");
}

/// 1 - cos w in the ball of radius 4: the least point 0 lies in it and all constants are known, but
/// from 3.5 the way down leads to 4, where the ball ends and the gradient, sin 4, does not vanish.
class Cosine : public problems::Objective {
 public:
  std::size_t dimension() const override { return 1; }
  std::vector<double> start() const override { return {3.5}; }
  double loss(std::span<const double> w) const override { return 1 - std::cos(w[0]); }
  void gradient(std::span<const double> w, std::span<double> g) const override {
    g[0] = std::sin(w[0]);
  }
  void stochastic_gradient(std::span<const double> w, std::uint64_t,
                           std::span<double> g) const override {
    gradient(w, g);
  }
  const std::vector<double>& optimum() const override { return optimum_; }

 private:
  std::vector<double> optimum_ = {0};
};

TEST(TheoryExperiment, TheoremTwoAsPrintedFailsWhereTheProjectionActs) {
  const Cosine problem;
  const Facts facts{.L = 1, .D_w = 4, .D_G = 8};  // D_G = 2 L D_w, as in the paper
  const Rates rates = certified_rates(facts);
  const Experiment experiment = run(problem, facts, rates, methods(1, facts, rates),
                                    {.steps = 10'000, .repetitions = 2}, *default_executor());
  EXPECT_TRUE(experiment.failed.empty());
  for (const MethodResult& result : experiment.results) {
    if (!result.certified) continue;
    EXPECT_DOUBLE_EQ(result.curve.weights.back(), std::sin(4) * std::sin(4)) << result.name;
    EXPECT_DOUBLE_EQ(result.least.back().weights.value, std::sin(3.5) * std::sin(3.5));
    // The estimate's half of the theorem holds all the same.
    EXPECT_LT(result.curve.estimate.back(), 1e-6) << result.name;
  }
}

TEST(TheoryExperiment, ThreadsDoNotChangeABit) {
  const ExperimentOptions options{.steps = 300, .repetitions = 5};
  const Experiment one = certified_experiment(options, *serial_executor());
  const Experiment many = certified_experiment(options, *pool_executor(3));
  ASSERT_EQ(one.results.size(), 7U);
  for (std::size_t m = 0; m < one.results.size(); ++m) {
    EXPECT_EQ(one.results[m].curve.weights, many.results[m].curve.weights);
    EXPECT_EQ(one.results[m].curve.estimate, many.results[m].curve.estimate);
    EXPECT_EQ(one.results[m].estimate.low, many.results[m].estimate.low);
    EXPECT_EQ(one.results[m].weights.high, many.results[m].weights.high);
  }
}

TEST(TheoryExperiment, AnyProblemThatKnowsItsOptimumWillDo) {
  const problems::Quadratic problem({.eigenvalues = {0.5, 0.75, 1}, .noise = 0.1});
  const Facts facts{.c = 0.5, .L = 1, .D_w = 4, .D_G = 8};
  const Rates rates = milder_rates(facts);
  const Experiment experiment =
      run(problem, facts, rates, methods(problem.dimension(), facts, rates),
          {.steps = 3000, .repetitions = 8}, *default_executor());
  const auto rows = table(experiment);
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_EQ(rows[0].method, "full-to");
  EXPECT_EQ(rows[0].label, "outside the theorem");
  EXPECT_EQ(rows[0].rates, "gamma = 4, beta = 4, alpha = " + rows[0].rates.substr(29));
  EXPECT_LT(rows[0].weights.value, -0.5);
  EXPECT_LT(rows[0].estimate.value, -0.5);
}

TEST(TheoryExperiment, SlopesOfPowerLawsAreTheirExponents) {
  const auto steps = recorded_steps(10'000, 8);
  Random random(1, 1);
  std::vector<std::vector<double>> errors(20);
  for (auto& error : errors) {
    const double size = random.uniform();
    for (const auto t : steps) error.push_back(size * std::pow(static_cast<double>(t) + 50, -1.25));
  }
  const Slope slope = fit_slope(steps, errors, 50, {});
  EXPECT_NEAR(slope.value, -1.25, 1e-9);
  EXPECT_NEAR(slope.low, -1.25, 1e-9);
  EXPECT_NEAR(slope.high, -1.25, 1e-9);
}

/// Of 200 intervals about 190 hold the truth; the bootstrap over 32 is a little too sure of itself.
TEST(TheoryExperiment, IntervalsHoldTheTruth) {
  const auto steps = recorded_steps(1000, 8);
  Random random(2, 1);
  int held = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::vector<double>> errors(32);
    for (auto& error : errors) {
      for (const auto t : steps) {
        const double z = random.normal();
        error.push_back(z * z / static_cast<double>(t));
      }
    }
    const Slope slope = fit_slope(steps, errors, 0, {.resamples = 200});
    held += slope.low <= -1 && -1 <= slope.high ? 1 : 0;
  }
  EXPECT_GE(held, 174);
  EXPECT_LE(held, 198);
}

TEST(TheoryExperiment, LeastMeansAreOfTheFirstSteps) {
  const std::vector<std::vector<double>> errors = {{4, 3, 5, 1}, {6, 3, 5, 2}};
  EXPECT_EQ(least_mean(errors, 1, {}).value, 5);
  EXPECT_EQ(least_mean(errors, 3, {}).value, 3);
  const Interval all = least_mean(errors, 4, {});
  EXPECT_EQ(all.value, 1.5);
  EXPECT_EQ(all.low, 1);
  EXPECT_EQ(all.high, 2);
}

TEST(TheoryExperiment, RecordedStepsAscendToTheLast) {
  for (const std::size_t last : {100U, 1234U, 100'000U}) {
    const auto steps = recorded_steps(last, 16);
    EXPECT_EQ(steps.front(), 1U);
    EXPECT_EQ(steps.back(), last);
    for (std::size_t k = 1; k < steps.size(); ++k) EXPECT_LT(steps[k - 1], steps[k]);
  }
}

TEST(TheoryExperiment, StopsWhenAskedTo) {
  EXPECT_THROW(
      certified_experiment({.steps = 1000, .proceed = [] { return false; }}, *default_executor()),
      train::Interrupted);
}

TEST(TheoryExperiment, OptionsThatMakeNoSenseAreNamed) {
  const auto message = [](const ExperimentOptions& options) -> std::string {
    try {
      certified_experiment(options, *serial_executor());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message({.steps = 10}), "theory: steps is 10; expected 100 or more");
  EXPECT_EQ(message({.repetitions = 1}),
            "theory: repetitions is 1; expected 2 or more, for the intervals");
  EXPECT_THROW(Softmax(unit_task(), {.lambda = 0}, *serial_executor()), std::invalid_argument);
  EXPECT_THROW(Softmax(unit_task(), {.batch = 0}, *serial_executor()), std::invalid_argument);
}

TEST(TheoryProblem, GradientsAreThoseOfTheLoss) {
  const Softmax problem(unit_task(100, 3), {.lambda = 0.3, .batch = 10}, *serial_executor());
  const std::vector<double> w = problem.start();
  std::vector<double> g(w.size());
  problem.gradient(w, g);
  for (std::size_t i = 0; i < w.size(); ++i) {
    std::vector<double> up = w;
    std::vector<double> down = w;
    up[i] += 1e-5;
    down[i] -= 1e-5;
    EXPECT_NEAR((problem.loss(up) - problem.loss(down)) / 2e-5, g[i], 1e-9);
  }
  problem.gradient(problem.optimum(), g);
  for (const double x : g) EXPECT_LE(std::abs(x), 1e-11);

  const auto mean_over = [&](const Softmax& of, std::uint64_t first, std::uint64_t count) {
    std::vector<double> sum(w.size());
    for (std::uint64_t step = first; step < first + count; ++step) {
      of.stochastic_gradient(w, step, g);
      for (std::size_t i = 0; i < w.size(); ++i) sum[i] += g[i] / static_cast<double>(count);
    }
    return sum;
  };
  const auto drawn = mean_over(problem, 0, 20'000);
  // An epoch of ten shuffled batches has every row once: the mean is exact.
  const Softmax shuffled(unit_task(100, 3),
                         {.lambda = 0.3, .batch = 10, .batches = Batches::shuffled},
                         *serial_executor());
  const auto epoch = mean_over(shuffled, 50, 10);
  problem.gradient(w, g);
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(drawn[i], g[i], 5e-3);
    EXPECT_NEAR(epoch[i], g[i], 1e-14);
  }
}

TEST(TheoryProblem, FactsHoldAtRandomPointsOfTheBall) {
  const Softmax problem(unit_task(), {.batch = 1}, *serial_executor());
  const Facts facts = problem.facts();
  EXPECT_GE(facts.L, problem.mean_smoothness());
  Random random(5, 1);
  const auto point = [&] {
    std::vector<double> w(problem.dimension());
    double square = 0;
    for (double& x : w) {
      x = random.normal();
      square += x * x;
    }
    for (double& x : w) x *= facts.D_w / std::sqrt(square);
    return w;
  };
  const auto distance = [](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return std::sqrt(sum);
  };
  for (std::uint64_t step = 0; step < 500; ++step) {
    const auto v = point();
    const auto w = point();
    std::vector<double> at_v(v.size());
    std::vector<double> at_w(v.size());
    problem.stochastic_gradient(v, step, at_v);
    problem.stochastic_gradient(w, step, at_w);
    EXPECT_LE(distance(at_v, std::vector<double>(v.size())), facts.D_G);
    EXPECT_LE(distance(at_v, at_w), facts.L * distance(v, w));
    problem.gradient(v, at_v);
    problem.gradient(w, at_w);
    double product = 0;
    for (std::size_t i = 0; i < v.size(); ++i) product += (at_v[i] - at_w[i]) * (v[i] - w[i]);
    EXPECT_GE(product, *facts.c * distance(v, w) * distance(v, w) * (1 - 1e-12));
  }
}

}  // namespace
}  // namespace tandem::theory
