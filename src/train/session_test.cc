// SPDX-License-Identifier: MIT
// Problems with sessions in the trainer, and how often and how much it measures.
#include <gtest/gtest.h>
#include <tandem/errors.h>

#include <cmath>
#include <istream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/state_stream.h"
#include "models/make_problem.h"
#include "train/plan.h"
#include "train/trainer.h"

namespace tandem::train {
namespace {

/// w -> 3 that remembers how many gradients it gave: each is of another strength.
class Remembering : public Problem {
 public:
  std::vector<std::size_t> segments() const override { return {2, 1}; }
  std::size_t samples() const override { return 10; }
  std::size_t validation_samples() const override { return 4; }
  std::string description() const override { return "a problem that remembers"; }
  std::unique_ptr<Batch> batch(Part, std::span<const std::uint32_t>) const override {
    throw std::logic_error("sessions only");
  }
  std::unique_ptr<Session> session(std::uint64_t seed) const override;

  mutable std::size_t measured = 0;                        // samples, in all
  mutable std::vector<std::vector<float>> announced = {};  // weights, before they were measured
};

class Pull : public Batch {
 public:
  Pull(const Remembering& problem, std::size_t rows, std::uint64_t* count)
      : problem_(problem), rows_(rows), count_(count) {}
  void gradients(std::size_t members, const float* weights, float* gradients,
                 double* rough) const override {
    ASSERT_EQ(members, 1U);
    const auto strength = static_cast<float>(1 + *count_ % 3);
    for (int i = 0; i < 3; ++i) gradients[i] = strength * (weights[i] - 3);
    *rough = 1;
    ++*count_;
  }
  void losses(std::size_t, const float* weights, LossSum* losses) const override {
    double loss = 0;
    ASSERT_FALSE(problem_.announced.empty());
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(weights[i], problem_.announced.back()[static_cast<std::size_t>(i)]);
      loss += std::pow(static_cast<double>(weights[i]) - 3, 2);
    }
    losses->loss = loss * static_cast<double>(rows_);
    problem_.measured += rows_;
  }

 private:
  const Remembering& problem_;
  std::size_t rows_;
  std::uint64_t* count_;
};

class Memory : public Session {
 public:
  Memory(const Remembering& problem, std::uint64_t seed) : problem_(problem), seed_(seed) {}
  void start(std::span<float> weights) const override {
    for (float& weight : weights) weight = static_cast<float>(seed_);
  }
  std::unique_ptr<Batch> batch(Problem::Part, std::span<const std::uint32_t> rows) override {
    return std::make_unique<Pull>(problem_, rows.size(), &count_);
  }
  void before_measuring(std::span<const float> weights) override {
    problem_.announced.emplace_back(weights.begin(), weights.end());
  }
  void save(std::ostream& stream) const override {
    StateWriter writer(stream);
    writer.count("gradients", count_);
    writer.finish();
  }
  void load(std::istream& stream) override {
    StateReader reader(stream);
    count_ = reader.count("gradients");
    reader.finish();
  }

 private:
  const Remembering& problem_;
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

std::unique_ptr<Session> Remembering::session(std::uint64_t seed) const {
  return std::make_unique<Memory>(*this, seed);
}

const Setting kSgd{"sgd", {{"lr", "0.1"}}};

TrainOptions options_of(std::size_t epochs, std::uint64_t seed = 7) {
  TrainOptions options;
  options.batch = 3;
  options.epochs = epochs;
  options.seed = seed;
  return options;
}

std::vector<float> weights_after(Trainer& trainer) {
  while (trainer.epoch()) {
  }
  const auto weights = trainer.weights(0);
  return {weights.begin(), weights.end()};
}

TEST(Session, StartsWhereTheSessionSaysAndStepsWithItsGradients) {
  const Remembering problem;
  Trainer trainer(problem, {kSgd}, options_of(1));
  double w = 7;
  for (int step = 0; step < 3; ++step) w -= 0.1 * (1 + step % 3) * (w - 3);
  const std::vector<float> weights = weights_after(trainer);
  for (const float weight : weights) EXPECT_NEAR(static_cast<double>(weight), w, 1e-5);
  EXPECT_DOUBLE_EQ(trainer.members()[0].points[0].train_loss, 3 * 16);
}

TEST(Session, AResumedRunRemembers) {
  const Remembering problem;
  Trainer whole(problem, {kSgd}, options_of(4));
  const std::vector<float> expected = weights_after(whole);
  Trainer first(problem, {kSgd}, options_of(4));
  first.epoch();
  first.epoch();
  std::stringstream checkpoint;
  first.save(checkpoint);
  Trainer second(problem, {kSgd}, options_of(4));
  second.load(checkpoint);
  EXPECT_EQ(weights_after(second), expected);
  // Without what the session remembers it would be another run.
  std::string cut = checkpoint.str();
  cut.resize(cut.size() - 4);
  std::stringstream damaged(cut);
  Trainer third(problem, {kSgd}, options_of(4));
  EXPECT_THROW(third.load(damaged), StateError);
}

TEST(Session, TrainsOneMemberAtATime) {
  const Remembering problem;
  const std::vector<Setting> settings{kSgd, {"adam", {}}, kSgd};
  EXPECT_THROW(Trainer(problem, settings, options_of(1)), std::invalid_argument);
  const Plan plan = make_plan(problem, settings, ~std::size_t{0});
  EXPECT_EQ(plan.waves, (std::vector<std::vector<std::size_t>>{{0}, {1}, {2}}));
}

void expect_refused(const Setting& setting, const TrainOptions& options, const std::string& part) {
  const Remembering problem;
  try {
    const Trainer trainer(problem, {setting}, options);
    ADD_FAILURE() << "not refused: " << part;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Session, WhatItCannotDoIsRefused) {
  expect_refused({"svrg", {}}, options_of(1), "svrg");
  TrainOptions zeros = options_of(1);
  zeros.init = Init::zeros;
  expect_refused(kSgd, zeros, "a start of its own");
  TrainOptions diagnose = options_of(1);
  diagnose.diagnose = true;
  expect_refused(kSgd, diagnose, "diagnose");
  TrainOptions clip = options_of(1);
  clip.clip = -1;
  expect_refused(kSgd, clip, "Invalid clip");
}

TEST(Measuring, AnEpochMayBeSomeStepsAndTheWeightsAreTheSame) {
  const Remembering problem;
  Trainer passes(problem, {kSgd}, options_of(4));  // 3 steps each
  const std::vector<float> expected = weights_after(passes);
  TrainOptions options = options_of(6);
  options.epoch_steps = 2;
  Trainer steps(problem, {kSgd}, options);
  EXPECT_EQ(weights_after(steps), expected);
  ASSERT_EQ(steps.members()[0].points.size(), 7U);
  EXPECT_EQ(steps.members()[0].points[1].step, 2U);
  EXPECT_EQ(steps.members()[0].points.back().train_loss,
            passes.members()[0].points.back().train_loss);
}

TEST(Measuring, OnlySoManySamplesAreMeasured) {
  const Remembering problem;
  TrainOptions options = options_of(1);
  options.measured_samples = 3;
  Trainer trainer(problem, {kSgd}, options);
  trainer.epoch();
  EXPECT_EQ(problem.measured, 2U * (3 + 3));
  EXPECT_DOUBLE_EQ(trainer.members()[0].points[0].train_loss, 3 * 16);
  EXPECT_DOUBLE_EQ(trainer.members()[0].points[0].validation_loss, 3 * 16);
}

TEST(Measuring, WeightsAreAnnouncedAtTheStartAndAfterEachEpoch) {
  const Remembering problem;
  Trainer trainer(problem, {kSgd}, options_of(2));
  trainer.epoch();
  ASSERT_EQ(problem.announced.size(), 2U);
  EXPECT_EQ(problem.announced[0], std::vector<float>(3, 7));  // the start, which is the seed
  const auto weights = trainer.weights(0);
  EXPECT_EQ(problem.announced[1], std::vector<float>(weights.begin(), weights.end()));
  trainer.epoch();
  EXPECT_EQ(problem.announced.size(), 3U);  // once for both parts
}

TEST(Measuring, SchedulesCountPasses) {
  const auto task = std::make_shared<data::Task>(
      data::load_task("synthetic:rows=64,features=4,classes=2,seed=1", {}));
  const auto problem = models::make_problem("logistic", task, 0);
  const Setting decaying{"sgd", {{"lr", "0.5"}, {"decay", "0.5"}}};
  TrainOptions options = options_of(3);
  options.batch = 16;
  Trainer passes(*problem, {decaying}, options);
  const std::vector<float> expected = weights_after(passes);
  options.epochs = 4;
  options.epoch_steps = 3;
  Trainer steps(*problem, {decaying}, options);
  EXPECT_EQ(weights_after(steps), expected);
}

TEST(Clip, ShortensWhatIsLonger) {
  const Remembering problem;
  TrainOptions options = options_of(1);
  options.clip = 0.5;
  Trainer trainer(problem, {{"sgd", {{"lr", "1"}}}}, options);
  // The gradient is (4, 4, 4) and longer: each step moves by 0.5 in all.
  for (const float weight : weights_after(trainer)) {
    EXPECT_NEAR(static_cast<double>(weight), 7 - 3 * 0.5 / std::sqrt(3), 1e-5);
  }
  options.clip = 1e9;
  Trainer loose(problem, {kSgd}, options);
  Trainer none(problem, {kSgd}, options_of(1));
  EXPECT_EQ(weights_after(loose), weights_after(none));
}

}  // namespace
}  // namespace tandem::train
