// SPDX-License-Identifier: MIT
// Errors of passive estimators: against the formulas in double precision, against the trainer's own
// diagnosis, and where theory knows the answer.
#include "paper/estimator_error.h"

#include <gtest/gtest.h>
#include <tandem/registry.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/dataset.h"
#include "models/make_problem.h"
#include "paper/estimator_comparison.h"

namespace tandem::paper {
namespace {

constexpr std::size_t kSamples = 60;
constexpr std::size_t kBatch = 5;
constexpr std::size_t kDimension = 7;

/// f_n(w) = sum of h_i/2 (w_i - x_ni)^2: grad F is linear in w with a diagonal curvature, and
/// mini-batches differ by a noise that does not depend on w.
class Bowl : public Problem {
 public:
  Bowl(double lambda, double noise) : lambda_(lambda) {
    Random random(11, 1);
    for (std::size_t i = 0; i < kDimension; ++i) {
      curvature_.push_back(0.5 + static_cast<double>(i) / 4);
    }
    for (double& x : samples_) x = 1 + noise * random.normal();
  }

  std::vector<std::size_t> segments() const override { return {kDimension}; }
  std::size_t samples() const override { return kSamples; }
  double lambda() const override { return lambda_; }
  std::string description() const override { return "a bowl"; }

  /// Without lambda.
  std::vector<double> gradient(std::span<const std::uint32_t> rows,
                               const std::vector<double>& w) const {
    std::vector<double> g(kDimension, 0);
    for (const std::uint32_t row : rows) {
      for (std::size_t i = 0; i < kDimension; ++i) {
        g[i] += curvature_[i] * (w[i] - samples_[row * kDimension + i]) /
                static_cast<double>(rows.size());
      }
    }
    return g;
  }

  std::unique_ptr<Batch> batch(Part, std::span<const std::uint32_t> rows) const override {
    return std::make_unique<Rows>(*this, rows);
  }

 private:
  class Rows : public Batch {
   public:
    Rows(const Bowl& bowl, std::span<const std::uint32_t> rows)
        : bowl_(bowl), rows_(rows.begin(), rows.end()) {}
    void gradients(std::size_t, const float* weights, float* gradients,
                   double* rough_losses) const override {
      const std::vector<double> g = bowl_.gradient(rows_, {weights, weights + kDimension});
      std::transform(g.begin(), g.end(), gradients,
                     [](double value) { return static_cast<float>(value); });
      *rough_losses = 1;
    }
    void losses(std::size_t, const float*, LossSum*) const override {}

   private:
    const Bowl& bowl_;
    std::vector<std::uint32_t> rows_;
  };

  double lambda_;
  std::vector<double> curvature_;
  std::vector<double> samples_ = std::vector<double>(kSamples * kDimension);
};

// ---- The formulas, in double precision ----------------------------------------------------------

using Vector = std::vector<double>;

double dot(const Vector& x, const Vector& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double distance_squared(const Vector& x, const Vector& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

/// G_t = A_t w_t + b_t of the paper's algorithms 1 to 3.
class Formula {
 public:
  explicit Formula(EstimatorSetting setting) : setting_(std::move(setting)) {}

  Vector estimate(const Vector& w, const Vector& g) {
    if (setting_.rule == "ro-to" && t_++ == 0) {
      const double ww = dot(w, w);
      for (std::size_t i = 0; i < kDimension; ++i) c_[i] = ww > 0 ? w[i] / ww : 0;
    }
    Vector r = times(w);
    for (std::size_t i = 0; i < kDimension; ++i) r[i] = g[i] - (r[i] + b_[i]);
    learn(w, r);
    Vector estimate = times(w);
    for (std::size_t i = 0; i < kDimension; ++i) estimate[i] += b_[i];
    return estimate;
  }

 private:
  Vector times(const Vector& w) const {
    Vector product(kDimension, 0);
    for (std::size_t i = 0; i < kDimension; ++i) {
      if (setting_.rule == "diag-to") product[i] = diagonal_[i] * w[i];
      if (setting_.rule == "ro-to") product[i] = a_[i] * dot(c_, w);
      if (setting_.rule != "full-to") continue;
      for (std::size_t j = 0; j < kDimension; ++j) product[i] += full_[i][j] * w[j];
    }
    return product;
  }

  void learn(const Vector& w, const Vector& r) {
    const double cw = dot(c_, w);
    const double ra = dot(r, a_);
    for (std::size_t i = 0; i < kDimension; ++i) {
      for (std::size_t j = 0; j < kDimension; ++j) full_[i][j] += setting_.alpha * r[i] * w[j];
      diagonal_[i] += setting_.alpha * r[i] * w[i];
      a_[i] += setting_.alpha * cw * r[i];
      c_[i] += setting_.alpha * ra * w[i];
      b_[i] += setting_.beta * r[i];
    }
  }

  EstimatorSetting setting_;
  std::size_t t_ = 0;
  std::vector<Vector> full_ = std::vector<Vector>(kDimension, Vector(kDimension, 0));
  Vector diagonal_ = Vector(kDimension, 0);
  Vector a_ = Vector(kDimension, 0), c_ = Vector(kDimension, 0), b_ = Vector(kDimension, 0);
};

constexpr double kRate = 0.2;

/// What measure_trajectory() should tell, with sgd as the driver.
std::vector<EpochErrors> expected_errors(const Bowl& problem,
                                         const std::vector<EstimatorSetting>& settings,
                                         const TrajectoryOptions& options) {
  Vector w(kDimension, 0);
  Random start(options.seed, 1);
  if (options.init == train::Init::normal) {
    for (double& weight : w) weight = start.normal();
  }
  std::vector<std::uint32_t> all(kSamples);
  std::iota(all.begin(), all.end(), 0U);
  std::vector<Formula> formulas(settings.begin(), settings.end());
  std::vector<EpochErrors> result;
  for (std::size_t epoch = 0; epoch < options.epochs; ++epoch) {
    EpochErrors& errors = result.emplace_back();
    errors.estimators.resize(settings.size());
    const auto order = Random(options.seed, 1000 + epoch).permutation(kSamples);
    constexpr std::size_t kSteps = kSamples / kBatch;
    for (std::size_t step = 0; step < kSteps; ++step) {
      const auto with_lambda = [&](std::span<const std::uint32_t> rows) {
        Vector g = problem.gradient(rows, w);
        for (std::size_t i = 0; i < kDimension; ++i) g[i] += problem.lambda() * w[i];
        return g;
      };
      const Vector g = with_lambda(std::span(order).subspan(step * kBatch, kBatch));
      const Vector full = with_lambda(all);
      const bool measured = (step + 1) % (kSteps / options.points) == 0;
      if (measured) {
        errors.gradient += dot(full, full);
        errors.batch += distance_squared(g, full);
      }
      for (std::size_t s = 0; s < settings.size(); ++s) {
        const Vector estimate = formulas[s].estimate(w, g);
        if (measured) errors.estimators[s] += distance_squared(estimate, full);
      }
      for (std::size_t i = 0; i < kDimension; ++i) w[i] -= kRate * g[i];
    }
  }
  return result;
}

train::Setting sgd(double lr) { return {"sgd", {{"lr", std::to_string(lr)}}}; }

TrajectoryOptions few() { return {.batch = kBatch, .epochs = 3, .points = 4, .seed = 2}; }

TEST(EstimatorError, IsWhatTheFormulasGive) {
  const std::vector<EstimatorSetting> settings =
      settings_of({{"full-to", "diag-to", "ro-to"}, {0.003, 0.05}, {0, 0.1, 0.6}});
  ASSERT_EQ(settings.size(), 3U + 3 * 2 * 3);
  for (const double lambda : {0.0, 0.3}) {
    for (const train::Init init : {train::Init::normal, train::Init::zeros}) {
      const Bowl problem(lambda, 0.7);
      TrajectoryOptions options = few();
      options.init = init;
      // From zeros RO-TO's c is ours, not the paper's.
      const bool zeros = init == train::Init::zeros;
      const TrajectoryErrors errors = measure_trajectory(problem, sgd(kRate), settings, options);
      const auto expected = expected_errors(problem, settings, options);
      ASSERT_EQ(errors.epochs.size(), expected.size());
      for (std::size_t e = 0; e < expected.size(); ++e) {
        EXPECT_NEAR(errors.epochs[e].gradient / expected[e].gradient, 1, 1e-4);
        EXPECT_NEAR(errors.epochs[e].batch / expected[e].batch, 1, 1e-5);
        for (std::size_t s = 0; s < settings.size(); ++s) {
          if (zeros && settings[s].rule == "ro-to") continue;
          EXPECT_NEAR(errors.epochs[e].estimators[s] / expected[e].estimators[s], 1, 1e-4)
              << settings[s].rule << " " << settings[s].alpha << " " << settings[s].beta
              << ", epoch " << e;
        }
      }
    }
  }
}

std::shared_ptr<const Problem> softmax(double lambda) {
  return models::make_problem("logistic",
                              std::make_shared<data::Task>(data::load_task(
                                  "synthetic:rows=300,features=11,classes=3,noise=0.1,seed=3", {})),
                              lambda);
}

/// The trainer measures estimators that move their own weights; a watcher with the same rates on
/// that trajectory has the same estimate.
TEST(EstimatorError, IsWhatTheTrainerTellsOfTheDriverItself) {
  for (const char* rule : {"diag-to", "ro-to", "full-to"}) {
    const auto problem = softmax(0.05);
    const train::Setting driver{rule, {{"lr", "0.1"}, {"alpha", "0.003"}, {"beta", "0.2"}}};
    const TrajectoryErrors errors =
        measure_trajectory(*problem, driver, {{.rule = rule, .alpha = 0.003, .beta = 0.2}},
                           {.batch = 16, .epochs = 2, .points = 1, .seed = 4});
    train::TrainOptions options;
    options.batch = 16;
    options.epochs = 2;
    options.seed = 4;
    options.diagnose = true;
    train::Trainer trainer(*problem, {driver}, options, serial_executor());
    while (trainer.epoch()) {
    }
    const std::span<const float> weights = trainer.weights(0);
    EXPECT_EQ(errors.weights, std::vector<float>(weights.begin(), weights.end())) << rule;
    for (std::size_t e = 0; e < 2; ++e) {
      const train::Point& point = trainer.members().at(0).points.at(e + 1);
      EXPECT_NEAR(errors.epochs[e].batch / point.batch_error, 1, 1e-5) << rule;
      EXPECT_NEAR(errors.epochs[e].estimators[0] / point.estimator_error, 1, 1e-4) << rule;
    }
  }
}

TEST(EstimatorError, WithBetaOneAndNoAItIsTheGradients) {
  const auto problem = softmax(0.2);
  const TrajectoryErrors errors = measure_trajectory(*problem, {"adam", {{"lr", "0.01"}}},
                                                     {{.rule = "diag-to", .alpha = 0, .beta = 1}},
                                                     {.batch = 16, .epochs = 2, .points = 3});
  for (const EpochErrors& epoch : errors.epochs) {
    EXPECT_NEAR(epoch.estimators[0] / epoch.batch, 1, 1e-5);
  }
}

TEST(EstimatorError, WithoutAAllRulesAreOne) {
  const auto problem = softmax(0.2);
  const TrajectoryErrors errors = measure_trajectory(*problem, {"momentum", {{"lr", "0.1"}}},
                                                     {{.rule = "diag-to", .alpha = 0, .beta = 0.1},
                                                      {.rule = "full-to", .alpha = 0, .beta = 0.1},
                                                      {.rule = "ro-to", .alpha = 0, .beta = 0.1}},
                                                     {.batch = 16, .epochs = 2, .points = 5});
  for (const EpochErrors& epoch : errors.epochs) {
    EXPECT_NEAR(epoch.estimators[1] / epoch.estimators[0], 1, 1e-5);
    EXPECT_NEAR(epoch.estimators[2] / epoch.estimators[0], 1, 1e-5);
  }
}

/// Large steps: an average of gradients is late, and a diagonal A knows where grad F has gone.
TEST(EstimatorError, ADiagonalAHelpsWhereTheCurvatureIsDiagonal) {
  const Bowl problem(0, 0.5);
  const auto settings =
      settings_of({{"diag-to"}, {1e-3, 1e-2, 0.1, 0.3}, {0.01, 0.03, 0.1, 0.3, 0.6, 1}});
  std::vector<TrajectoryErrors> seeds;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    TrajectoryOptions options = few();
    options.epochs = 30;
    options.seed = seed;
    seeds.push_back(measure_trajectory(problem, sgd(0.9), settings, options));
  }
  const EstimatorComparison all = compare_estimators(settings, seeds).front();
  ASSERT_TRUE(all.log_quotient.interval);
  EXPECT_LT((*all.log_quotient.interval)[1], std::log(0.9));
  EXPECT_LT(*all.with.ratio, *all.without.ratio);
}

TEST(EstimatorError, WhatDivergesIsInfiniteFromThereOn) {
  const Bowl problem(0, 0.5);
  const TrajectoryErrors errors = measure_trajectory(problem, sgd(kRate),
                                                     {{.rule = "full-to", .alpha = 100, .beta = 1},
                                                      {.rule = "ro-to", .alpha = 100, .beta = 1},
                                                      {.rule = "diag-to", .alpha = 0, .beta = 0.1}},
                                                     {.batch = kBatch, .epochs = 20, .points = 2});
  for (const std::size_t s : {0U, 1U}) {
    EXPECT_TRUE(std::isinf(errors.epochs.back().estimators[s])) << s;
  }
  EXPECT_TRUE(std::isfinite(errors.epochs.back().estimators[2]));
}

template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(EstimatorError, WhatCannotBeIsNamed) {
  const Bowl problem(0, 0.5);
  const auto run = [&](const train::Setting& driver, const TrajectoryOptions& options) {
    return message_of([&] { measure_trajectory(problem, driver, {}, options); });
  };
  EXPECT_EQ(run(sgd(0.1), {.batch = 60}),
            "Invalid batch of a trajectory: 60, expected 1 to 59: less than the training samples, "
            "or there is no error to compare with");
  EXPECT_EQ(run(sgd(0.1), {.batch = 5, .points = 13}),
            "Invalid number of measured steps of a trajectory: 13, expected 1 to 12, the steps of "
            "an epoch");
  EXPECT_EQ(run(sgd(0.1), {.batch = 5, .epochs = 0, .points = 2}),
            "Invalid number of epochs of a trajectory: 0, expected 1 or more");
  const std::string diverged = run(sgd(1e30), {.batch = 5, .points = 2, .seed = 8});
  EXPECT_EQ(diverged.rfind("sgd with lr = 1e+30 diverged on a bowl, seed 8, step ", 0), 0U)
      << diverged;
  EXPECT_THROW(measure_trajectory(problem, sgd(0.1), {},
                                  {.batch = 5, .points = 2, .proceed = [] { return false; }}),
               train::Interrupted);
}

}  // namespace
}  // namespace tandem::paper
