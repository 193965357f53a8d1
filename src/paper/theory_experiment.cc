// SPDX-License-Identifier: MIT
// Repetitions of an experiment in parallel, slopes by least squares, intervals by the bootstrap.
#include "paper/theory_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <stdexcept>

#include "base/random.h"
#include "paper/theory_robust.h"
#include "train/trainer.h"

namespace tandem::theory {
namespace {

/// Errors of one repetition at the recorded steps.
struct Track {
  std::vector<double> weights;
  std::vector<double> estimate;
};

double distance_squared(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

Track repeat(const problems::Objective& problem, bool convex, const Method& method,
             std::uint64_t repetition, const std::vector<std::uint64_t>& recorded,
             const std::function<bool()>& proceed) {
  const std::unique_ptr<Optimizer> optimizer = method.make();
  optimizer->set_executor(serial_executor());
  optimizer->keep_estimate();
  std::vector<double> w = problem.start();
  std::vector<double> g(w.size());
  std::vector<double> full(w.size());
  const std::vector<double> zero(w.size());
  Track track;
  std::uint64_t t = 1;
  for (const std::uint64_t next : recorded) {
    if (!proceed()) return track;
    for (; t <= next; ++t) {
      problem.stochastic_gradient(w, (repetition << 40) + t, g);
      // Errors at t are those of w_t, before the step.
      if (t == next) {
        problem.gradient(w, full);
        track.weights.push_back(convex ? distance_squared(w, problem.optimum())
                                       : distance_squared(full, zero));
      }
      optimizer->step(w, g);
    }
    track.estimate.push_back(distance_squared(optimizer->last_estimate(), full));
  }
  return track;
}

/// Sums of the straight line through (x, y): the slope is a fixed combination of the y.
std::vector<double> slope_weights(const std::vector<double>& x) {
  double mean = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  double squares = 0;
  for (const double value : x) squares += (value - mean) * (value - mean);
  std::vector<double> weights;
  for (const double value : x) weights.push_back((value - mean) / squares);
  return weights;
}

void require(bool good, const char* what, double found, const char* expected) {
  if (good) return;
  throw std::invalid_argument(fmt::format("theory: {} is {}; expected {}", what, found, expected));
}

void require_valid(const ExperimentOptions& options) {
  require(options.steps >= 100, "steps", static_cast<double>(options.steps), "100 or more");
  require(options.steps < std::size_t{1} << 40, "steps", static_cast<double>(options.steps),
          "fewer than 2^40");
  require(options.repetitions >= 2, "repetitions", static_cast<double>(options.repetitions),
          "2 or more, for the intervals");
  require(options.points_per_decade >= 4, "points_per_decade",
          static_cast<double>(options.points_per_decade), "4 or more");
  require(options.decades > 0, "decades", options.decades, "a number > 0");
  require(options.resamples >= 40, "resamples", static_cast<double>(options.resamples),
          "40 or more, for the ends of a 95 % interval");
}

Curve mean_of(const std::vector<std::vector<double>>& weights,
              const std::vector<std::vector<double>>& estimate) {
  const auto mean = [](const std::vector<std::vector<double>>& errors) {
    std::vector<double> sum(errors[0].size());
    for (const auto& error : errors) {
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += error[k];
    }
    for (double& value : sum) value /= static_cast<double>(errors.size());
    return sum;
  };
  return {mean(weights), mean(estimate)};
}

/// `statistic` of the sums over repetitions, and the middle 95 % of what resampled repetitions give.
Interval bootstrap(const std::vector<std::vector<double>>& errors, const ExperimentOptions& options,
                   const std::function<double(const std::vector<double>&)>& statistic) {
  const auto of_repetitions = [&](auto&& repetition_of) {
    std::vector<double> sums(errors[0].size());
    for (std::size_t r = 0; r < errors.size(); ++r) {
      const std::vector<double>& error = errors[repetition_of(r)];
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += error[k];
    }
    return statistic(sums);
  };
  Interval interval;
  interval.value = of_repetitions([](std::size_t r) { return r; });
  Random random(options.seed, 0);
  std::vector<double> resampled(options.resamples);
  for (double& value : resampled) {
    value = of_repetitions([&](std::size_t) { return random.below(errors.size()); });
  }
  std::sort(resampled.begin(), resampled.end());
  const auto at = [&](double quantile) {
    return resampled[static_cast<std::size_t>(
        std::lround(quantile * static_cast<double>(resampled.size() - 1)))];
  };
  interval.low = at(0.025);
  interval.high = at(0.975);
  return interval;
}

/// Up to each tenth of the tenth of all steps, from 10 on.
std::vector<Least> least_errors(const std::vector<std::uint64_t>& steps,
                                const std::vector<std::vector<double>>& weights,
                                const std::vector<std::vector<double>>& estimate,
                                const ExperimentOptions& options) {
  std::vector<Least> all;
  for (double limit = static_cast<double>(steps.back()); limit >= 10; limit /= 10) {
    std::size_t count = 0;
    while (count < steps.size() && static_cast<double>(steps[count]) <= limit) ++count;
    all.push_back({.steps = steps[count - 1],
                   .weights = least_mean(weights, count, options),
                   .estimate = least_mean(estimate, count, options)});
  }
  std::reverse(all.begin(), all.end());
  return all;
}

}  // namespace

std::vector<std::uint64_t> recorded_steps(std::size_t steps, std::size_t points_per_decade) {
  std::vector<std::uint64_t> recorded;
  const double ratio = std::pow(10.0, 1.0 / static_cast<double>(points_per_decade));
  // From the end, so that the last decade is as full as it can be.
  for (double t = static_cast<double>(steps); t >= 1; t /= ratio) {
    const auto step = static_cast<std::uint64_t>(std::llround(t));
    if (recorded.empty() || step < recorded.back()) recorded.push_back(step);
  }
  if (!recorded.empty() && recorded.back() > 1) recorded.push_back(1);
  std::reverse(recorded.begin(), recorded.end());
  return recorded;
}

Slope fit_slope(const std::vector<std::uint64_t>& steps,
                const std::vector<std::vector<double>>& errors, double mu,
                const ExperimentOptions& options) {
  const double first =
      static_cast<double>(steps.back()) / std::pow(10.0, options.decades) * (1 - 1e-9);
  std::vector<std::size_t> used;
  std::vector<double> x;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const auto t = static_cast<double>(steps[k]);
    if (t < first) continue;
    used.push_back(k);
    x.push_back(std::log(t + mu));
  }
  require(used.size() >= 2, "the number of recorded steps to fit", static_cast<double>(used.size()),
          "2 or more; are decades too few?");
  const std::vector<double> line = slope_weights(x);
  return bootstrap(errors, options, [&](const std::vector<double>& sums) {
    double slope = 0;
    for (std::size_t k = 0; k < used.size(); ++k) slope += line[k] * std::log(sums[used[k]]);
    return slope;
  });
}

Interval least_mean(const std::vector<std::vector<double>>& errors, std::size_t count,
                    const ExperimentOptions& options) {
  return bootstrap(errors, options, [&](const std::vector<double>& sums) {
    return *std::min_element(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(count)) /
           static_cast<double>(errors.size());
  });
}

Experiment run(const problems::Objective& problem, const Facts& facts, const Rates& rates,
               const std::vector<Method>& methods, const ExperimentOptions& options,
               Executor& executor) {
  require_valid(options);
  Experiment experiment{.facts = facts,
                        .rates = rates,
                        .failed = check(facts, rates),
                        .bounds = bounds(facts, rates),
                        .steps = recorded_steps(options.steps, options.points_per_decade),
                        .results = {}};
  const std::size_t repetitions = options.repetitions;
  std::vector<Track> tracks(methods.size() * repetitions);
  std::vector<std::exception_ptr> errors(tracks.size());
  std::atomic<bool> stop = false;
  const auto proceed = [&] {
    if (!stop && options.proceed && !options.proceed()) stop = true;
    return !stop;
  };
  executor.run(tracks.size(), [&](std::size_t i) {
    try {
      tracks[i] = repeat(problem, facts.c.has_value(), methods[i / repetitions], i % repetitions,
                         experiment.steps, proceed);
    } catch (...) {
      errors[i] = std::current_exception();
      stop = true;
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  if (stop) throw train::Interrupted();

  for (std::size_t m = 0; m < methods.size(); ++m) {
    std::vector<std::vector<double>> weights;
    std::vector<std::vector<double>> estimate;
    for (std::size_t r = 0; r < repetitions; ++r) {
      weights.push_back(std::move(tracks[m * repetitions + r].weights));
      estimate.push_back(std::move(tracks[m * repetitions + r].estimate));
    }
    experiment.results.push_back(
        {.name = methods[m].name,
         .rates = methods[m].rates,
         .certified = methods[m].certified,
         .reason = methods[m].reason,
         .curve = mean_of(weights, estimate),
         .weights = fit_slope(experiment.steps, weights, rates.mu, options),
         .estimate = fit_slope(experiment.steps, estimate, rates.mu, options),
         .least = facts.c ? std::vector<Least>()
                          : least_errors(experiment.steps, weights, estimate, options)});
  }
  return experiment;
}

std::vector<TableRow> table(const Experiment& experiment) {
  std::vector<TableRow> rows;
  for (const MethodResult& result : experiment.results) {
    rows.push_back({result.name, result.rates, result.weights, result.estimate,
                    result.certified ? "certified" : "outside the theorem", result.reason});
  }
  return rows;
}

double log_of_steps(const Rates& rates, std::uint64_t steps) {
  return std::log1p(static_cast<double>(steps) / (1 + rates.mu));
}

Curve bound_curves(const Experiment& experiment) {
  const Bounds& bounds = experiment.bounds;
  Curve curves;
  for (const std::uint64_t step : experiment.steps) {
    if (bounds.M1 && bounds.M2) {
      const double t = static_cast<double>(step) + experiment.rates.mu;
      curves.weights.push_back(*bounds.M1 / t);
      curves.estimate.push_back(*bounds.M2 / t);
    } else if (bounds.M3 && bounds.M4) {
      const double log = log_of_steps(experiment.rates, step);
      curves.weights.push_back(*bounds.M4 / log);
      curves.estimate.push_back(*bounds.M3 / log);
    }
  }
  return curves;
}

Experiment certified_experiment(const ExperimentOptions& options, Executor& executor) {
  const Softmax problem(unit_task(), {.seed = options.seed}, executor);
  const Facts facts = problem.facts();
  const Rates rates = certified_rates(facts);
  return run(problem, facts, rates, methods(problem.dimension(), facts, rates), options, executor);
}

Experiment milder_experiment(const data::Task& task, const SoftmaxOptions& problem_options,
                             const ExperimentOptions& options, Executor& executor,
                             const ControlOptions& controls) {
  const Softmax problem(task, problem_options, executor);
  Facts facts = problem.facts();
  facts.L = problem.mean_smoothness();
  const Rates rates = milder_rates(facts);
  return run(problem, facts, rates, methods(problem.dimension(), facts, rates, controls), options,
             executor);
}

Experiment nonconvex_experiment(const ExperimentOptions& options, Executor& executor) {
  const RobustRegression problem({.seed = options.seed});
  const Facts facts = problem.facts();
  const Rates rates = certified_rates(facts);
  return run(problem, facts, rates, methods(problem.dimension(), facts, rates), options, executor);
}

}  // namespace tandem::theory
