// SPDX-License-Identifier: MIT
// A trajectory is recorded from one measured step to the next; then each estimator goes over the
// recorded steps, so that its state stays in the cache.
#include "paper/estimator_error.h"

#include <fmt/format.h>
#include <tandem/registry.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>

#include "base/float_environment.h"
#include "base/random.h"
#include "sources/source.h"

namespace tandem::paper {
namespace {

// As the trainer numbers them.
enum Stream : std::uint64_t { kInitStream = 1, kOrderStream = 1000 };

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require(bool good, const char* what, std::size_t found, const std::string& expected) {
  if (good) return;
  throw std::invalid_argument(
      fmt::format("Invalid {} of a trajectory: {}, expected {}", what, found, expected));
}

void check(const Problem& problem, const TrajectoryOptions& options) {
  require(options.batch >= 1 && options.batch < problem.samples(), "batch", options.batch,
          fmt::format("1 to {}: less than the training samples, or there is no error to compare "
                      "with",
                      problem.samples() - 1));
  const std::size_t steps = problem.samples() / options.batch;
  require(options.points >= 1 && options.points <= steps, "number of measured steps",
          options.points, fmt::format("1 to {}, the steps of an epoch", steps));
  require(options.epochs >= 1, "number of epochs", options.epochs, "1 or more");
}

/// With lambda's part added by the pass, as the trainer does it.
std::unique_ptr<Optimizer> make_on(const Problem& problem, const std::string& rule,
                                   OptionMap options) {
  if (problem.lambda() != 0) options["l2"] = fmt::format("{}", problem.lambda());
  auto optimizer = make_optimizer(rule, problem.dimension(), options);
  optimizer->set_executor(serial_executor());
  return optimizer;
}

/// Weights and gradients of the steps from one measured step to the next, which is the last.
struct Record {
  std::size_t steps = 0;
  std::size_t dimension = 0;
  std::vector<float> weights = {};    // before each step
  std::vector<float> gradients = {};  // of the mini-batches, without lambda

  void resize(std::size_t count) {
    steps = count;
    if (weights.size() >= count * dimension) return;
    weights.resize(count * dimension);
    gradients.resize(count * dimension);
  }
  std::span<float> w(std::size_t step) { return {&weights[step * dimension], dimension}; }
  std::span<float> g(std::size_t step) { return {&gradients[step * dimension], dimension}; }
};

class Driver {
 public:
  Driver(const Problem& problem, const train::Setting& setting, const TrajectoryOptions& options)
      : problem_(problem),
        setting_(setting),
        options_(options),
        optimizer_(make_on(problem, setting.method, setting.options)),
        weights_(problem.dimension()) {
    if (options.init == train::Init::zeros) return;
    Random random(options.seed, kInitStream);
    for (float& weight : weights_) weight = static_cast<float>(random.normal());
  }

  void start_epoch(std::size_t epoch) {
    if (epoch > 0) optimizer_->epoch_end();
    order_ = Random(options_.seed, kOrderStream + epoch).permutation(problem_.samples());
  }

  /// Makes the steps first to last - 1 of the epoch.
  void advance(std::size_t first, std::size_t last, Record& record) {
    record.resize(last - first);
    for (std::size_t step = first; step < last; ++step) {
      const auto rows = std::span(order_).subspan(step * options_.batch, options_.batch);
      const std::span<float> g = record.g(step - first);
      double rough = 0;
      problem_.batch(Problem::Part::train, rows)->gradients(1, weights_.data(), g.data(), &rough);
      if (!std::isfinite(rough) ||
          !std::all_of(g.begin(), g.end(), [](float value) { return std::isfinite(value); })) {
        throw std::runtime_error(fmt::format(
            "{} with lr = {} diverged on {}, seed {}, step {} of an epoch; expected a driver that "
            "trains",
            setting_.method, optimizer_->lr(), problem_.description(), options_.seed, step + 1));
      }
      std::copy(weights_.begin(), weights_.end(), record.w(step - first).begin());
      optimizer_->step(weights_, g);
    }
  }

  std::vector<float> take_weights() { return std::move(weights_); }

 private:
  const Problem& problem_;
  const train::Setting& setting_;
  const TrajectoryOptions& options_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> weights_;
  std::vector<std::uint32_t> order_;
};

/// An optimizer of the library at rate 0.
class Watcher {
 public:
  Watcher(const Problem& problem, const EstimatorSetting& setting) {
    OptionMap options{{"lr", "0"},
                      {"alpha", fmt::format("{}", setting.alpha)},
                      {"beta", fmt::format("{}", setting.beta)}};
    // The span form is for weights that the optimizer moves itself.
    if (setting.rule == "full-to") options["form"] = "dense";
    optimizer_ = make_on(problem, setting.rule, options);
  }

  /// |G - grad F|^2 at the last step of the record; infinite from where it is not finite.
  double watch(Record& record, const std::vector<double>& full, std::vector<float>& scratch) {
    if (optimizer_ == nullptr) return kInfinity;
    for (std::size_t step = 0; step < record.steps; ++step) {
      // A copy, because 0 times an estimate that is not finite would not leave them alone.
      const std::span<float> w = record.w(step);
      std::copy(w.begin(), w.end(), scratch.begin());
      optimizer_->weights_changed();
      if (step + 1 == record.steps) optimizer_->keep_estimate();
      optimizer_->step(scratch, record.g(step));
    }
    const std::vector<double> estimate = optimizer_->last_estimate();
    optimizer_->keep_estimate(false);
    double error = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
      error += (estimate[i] - full[i]) * (estimate[i] - full[i]);
    }
    if (std::isfinite(error)) return error;
    optimizer_ = nullptr;
    return kInfinity;
  }

 private:
  std::unique_ptr<Optimizer> optimizer_;  // null: it has diverged
};

/// Of the loss with lambda's part.
std::vector<double> full_gradient(const Problem& problem, std::span<const float> w) {
  std::vector<double> full = sources::full_gradient(problem, w.data());
  for (std::size_t i = 0; i < full.size(); ++i) {
    full[i] += problem.lambda() * static_cast<double>(w[i]);
  }
  return full;
}

/// Adds what the last step of the record tells of the mini-batch's gradient.
void measure_batch(const Problem& problem, Record& record, const std::vector<double>& full,
                   EpochErrors& errors) {
  const std::span<const float> w = record.w(record.steps - 1);
  const std::span<const float> g = record.g(record.steps - 1);
  for (std::size_t i = 0; i < full.size(); ++i) {
    const double seen = static_cast<double>(g[i]) + problem.lambda() * static_cast<double>(w[i]);
    errors.gradient += full[i] * full[i];
    errors.batch += (seen - full[i]) * (seen - full[i]);
  }
}

}  // namespace

std::vector<EstimatorSetting> settings_of(const EstimatorGrid& grid) {
  std::vector<EstimatorSetting> settings;
  for (const double beta : grid.betas) {
    settings.push_back({.rule = "diag-to", .alpha = 0, .beta = beta});
  }
  for (const std::string& rule : grid.rules) {
    for (const double alpha : grid.alphas) {
      for (const double beta : grid.betas) {
        settings.push_back({.rule = rule, .alpha = alpha, .beta = beta});
      }
    }
  }
  return settings;
}

TrajectoryErrors measure_trajectory(const Problem& problem, const train::Setting& driver_setting,
                                    const std::vector<EstimatorSetting>& settings,
                                    const TrajectoryOptions& options) {
  const FlushDenormals flush;
  check(problem, options);
  Driver driver(problem, driver_setting, options);
  std::vector<Watcher> watchers;
  for (const EstimatorSetting& setting : settings) watchers.emplace_back(problem, setting);
  Record record{.dimension = problem.dimension()};
  std::vector<float> scratch(problem.dimension());
  const std::size_t steps = problem.samples() / options.batch;

  TrajectoryErrors result;
  for (std::size_t epoch = 0; epoch < options.epochs; ++epoch) {
    EpochErrors& errors = result.epochs.emplace_back();
    errors.estimators.resize(settings.size());
    driver.start_epoch(epoch);
    for (std::size_t part = 0; part < options.points; ++part) {
      if (options.proceed && !options.proceed()) throw train::Interrupted();
      driver.advance(part * steps / options.points, (part + 1) * steps / options.points, record);
      const std::vector<double> full = full_gradient(problem, record.w(record.steps - 1));
      measure_batch(problem, record, full, errors);
      for (std::size_t s = 0; s < watchers.size(); ++s) {
        errors.estimators[s] += watchers[s].watch(record, full, scratch);
      }
    }
  }
  result.weights = driver.take_weights();
  return result;
}

}  // namespace tandem::paper
