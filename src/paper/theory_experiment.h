// SPDX-License-Identifier: MIT
// Experiments on the theorems: trainable optimizers and controls with the same rates, their errors
// averaged over repetitions, and the slopes at which they fall.
#pragma once

#include <tandem/executor.h>
#include <tandem/optimizer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "paper/theory.h"
#include "paper/theory_problem.h"
#include "problems/objective.h"

namespace tandem::theory {

/// An optimizer with its rates, ready to be made afresh for each repetition.
struct Method {
  std::string name;   // "full-to", "momentum, constant beta"
  std::string rates;  // "gamma_t = 4/(t+150), ..."
  bool certified = false;
  std::string reason;  // why it is certified, or why not
  std::function<std::unique_ptr<Optimizer>()> make;
};

struct ControlOptions {
  double momentum = 0.9;    // of the momentum whose beta is constant, 1 - momentum
  double adam_rate = 1e-3;  // of Adam with a constant rate
};

/// full-to, diag-to, ro-to; then the controls: alpha = 0 with the same beta_t, momentum with a
/// constant beta, Adam with a constant rate and with gamma_t. All are projected onto the ball.
/// `certified` where check(facts, rates) finds nothing and the theorem is about the method.
std::vector<Method> methods(std::size_t dimension, const Facts& facts, const Rates& rates,
                            const ControlOptions& controls = {});

struct ExperimentOptions {
  std::size_t steps = 100'000;
  std::size_t repetitions = 32;
  std::size_t points_per_decade = 32;  // of recorded steps
  double decades = 1;                  // of steps at the end to which slopes are fitted
  std::size_t resamples = 1000;        // of the bootstrap
  /// Of the bootstrap; that of batches is the problem's, and the same in certified_experiment.
  std::uint64_t seed = 1;
  /// Asked now and then, from several threads; false stops, and run() throws train::Interrupted.
  std::function<bool()> proceed = {};
};

/// A number with its 95 % interval over repetitions.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};
/// A fitted exponent.
using Slope = Interval;

/// Means over repetitions at the recorded steps.
struct Curve {
  std::vector<double> weights;   // E|w_t - w*|^2; without c E|grad F(w_t)|^2, as in Theorem 2
  std::vector<double> estimate;  // E|G_t - grad F(w_t)|^2
};

/// The least means of the recorded steps up to `steps`: what Theorem 2 speaks of.
struct Least {
  std::uint64_t steps = 0;
  Interval weights;
  Interval estimate;
};

struct MethodResult {
  std::string name;
  std::string rates;
  bool certified = false;
  std::string reason;
  Curve curve;
  Slope weights;                  // of the logarithm of curve.weights against log(t + mu)
  Slope estimate;                 // the same of curve.estimate
  std::vector<Least> least = {};  // up to ..., a hundredth, a tenth and all steps; with c: none
};

struct Experiment {
  Facts facts;
  Rates rates;
  std::vector<Condition> failed;  // conditions of the theorem that the rates fail
  Bounds bounds;
  std::vector<std::uint64_t> steps;  // the recorded t
  std::vector<MethodResult> results;
};

/// Runs every method `repetitions` times from problem.start(); all methods see the same batches:
/// repetition r has the steps r * 2^40 + t of problem.stochastic_gradient. Repetitions run in
/// parallel, each on one thread: the same bits for any executor. Throws std::invalid_argument for
/// options that make no sense, and what an optimizer throws.
Experiment run(const problems::Objective& problem, const Facts& facts, const Rates& rates,
               const std::vector<Method>& methods, const ExperimentOptions& options,
               Executor& executor);

/// The recorded steps: about `points_per_decade` in equal ratios, 1 and `steps` among them.
std::vector<std::uint64_t> recorded_steps(std::size_t steps, std::size_t points_per_decade);

/// Least squares over the steps of the last `decades`; errors[r][k] is repetition r at steps[k].
/// Averages over repetitions first, then takes logarithms. The interval holds the middle 95 % of
/// what resampled repetitions give.
Slope fit_slope(const std::vector<std::uint64_t>& steps,
                const std::vector<std::vector<double>>& errors, double mu,
                const ExperimentOptions& options);

/// The least mean of the first `count` recorded steps.
Interval least_mean(const std::vector<std::vector<double>>& errors, std::size_t count,
                    const ExperimentOptions& options);

/// One row of the table in docs/theory.md.
struct TableRow {
  std::string method;
  std::string rates;
  Slope weights;
  Slope estimate;
  std::string label;  // "certified" or "outside the theorem"
  std::string reason;
};

std::vector<TableRow> table(const Experiment& experiment);

/// log((steps + 1 + mu) / (1 + mu)), by which the bounds of Theorem 2 fall.
double log_of_steps(const Rates& rates, std::uint64_t steps);

/// Bounds that the theorem gives at the recorded steps: M / (t + mu); of the least errors so far
/// where there is no c. Empty where it gives none.
Curve bound_curves(const Experiment& experiment);

/// (a): certified rates on unit_task(), condition number 2, 20 weights.
Experiment certified_experiment(const ExperimentOptions& options, Executor& executor);

/// (b): milder_rates on a task of one's own, outside the theorem, with L of the full gradient (rows
/// of real data are so long that with L of every batch nothing would move).
Experiment milder_experiment(const data::Task& task, const SoftmaxOptions& problem_options,
                             const ExperimentOptions& options, Executor& executor,
                             const ControlOptions& controls = {});

/// (c): certified rates of Theorem 2 on RobustRegression.
Experiment nonconvex_experiment(const ExperimentOptions& options, Executor& executor);

}  // namespace tandem::theory
