// SPDX-License-Identifier: MIT
// The population trainer: a member's result depends on its own setting alone, to the bit.
#include "train/trainer.h"

#include <gtest/gtest.h>
#include <tandem/errors.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/make_problem.h"
#include "train/plan.h"

namespace tandem::train {
namespace {

std::shared_ptr<data::Task> synthetic(const std::string& more = "") {
  data::LoadOptions options;
  options.validation = 0.2;
  return std::make_shared<data::Task>(data::load_task(
      "synthetic:rows=600,features=21,classes=3,condition=10,noise=0.1,seed=3" + more, options));
}

/// 800 weights: Full-TO's matrix is not small.
std::shared_ptr<const data::Task> wide() {
  return std::make_shared<data::Task>(
      data::load_task("synthetic:rows=1200,features=200,classes=4", {}));
}

/// Settings of different rules and sources, some of which diverge.
std::vector<Setting> crowd() {
  return {{"diag-to", {{"lr", "0.1"}, {"alpha", "0.01"}, {"beta", "0.5"}}},
          {"adam", {{"lr", "0.01"}}},
          {"ro-to", {{"lr", "0.05"}, {"alpha", "0.001"}}},
          {"sgd", {{"lr", "1e30"}}},
          {"full-to", {{"lr", "0.05"}, {"alpha", "0.001"}}},
          {"saga", {{"lr", "0.05"}}},
          {"svrg+adam", {{"lr", "0.01"}}},
          {"storm", {{"lr", "0.05"}, {"storm_a", "0.2"}}},
          {"diag-to", {{"lr", "0.5"}, {"alpha", "100"}, {"beta", "1"}}},
          {"adam-to", {{"lr", "0.01"}, {"decay", "0.8"}}},
          {"momentum", {{"lr", "0.1*0.9^epoch"}}}};
}

TrainOptions few_epochs() {
  TrainOptions options;
  options.batch = 32;
  options.epochs = 3;
  options.seed = 5;
  return options;
}

std::vector<Member> train_all(const Problem& problem, const std::vector<Setting>& settings,
                              const TrainOptions& options, int threads) {
  Trainer trainer(problem, settings, options, pool_executor(threads));
  while (trainer.epoch()) {
  }
  return trainer.members();
}

void expect_same(const Member& a, const Member& b) {
  SCOPED_TRACE(a.setting.method);
  EXPECT_EQ(a.diverged, b.diverged);
  EXPECT_EQ(a.diverged_at, b.diverged_at);
  EXPECT_EQ(a.state_bytes, b.state_bytes);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    EXPECT_EQ(a.points[i].train_loss, b.points[i].train_loss) << "epoch " << i;
    EXPECT_EQ(a.points[i].validation_loss, b.points[i].validation_loss);
    EXPECT_EQ(a.points[i].validation_accuracy, b.points[i].validation_accuracy);
    EXPECT_EQ(a.points[i].gradient_evaluations, b.points[i].gradient_evaluations);
  }
}

class CrowdTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CrowdTest, MembersHaveTheSameBitsAloneInACrowdAndOnAnyThreads) {
  const auto problem = models::make_problem("logistic", synthetic(GetParam()), 0.01);
  const std::vector<Setting> settings = crowd();
  const std::vector<Member> together = train_all(*problem, settings, few_epochs(), 2);
  for (std::size_t id = 0; id < settings.size(); ++id) {
    expect_same(train_all(*problem, {settings[id]}, few_epochs(), 1)[0], together[id]);
  }
  std::vector<Setting> reversed(settings.rbegin(), settings.rend());
  // Many more members: other blocks, other places.
  for (int copy = 0; copy < 40; ++copy) reversed.push_back(settings[1]);
  for (const int threads : {1, 3}) {
    const std::vector<Member> other = train_all(*problem, reversed, few_epochs(), threads);
    for (std::size_t id = 0; id < settings.size(); ++id) {
      expect_same(other[settings.size() - 1 - id], together[id]);
    }
    expect_same(other.back(), together[1]);
  }
  EXPECT_TRUE(together[3].diverged);
  EXPECT_FALSE(together[0].diverged);
}

INSTANTIATE_TEST_SUITE_P(Data, CrowdTest, ::testing::Values("", ",sparse=0.3"),
                         [](const auto& kind) { return kind.param.empty() ? "dense" : "sparse"; });

// Logits some 90 apart: probabilities, and with them gradients, are denormal numbers.
TEST(Trainer, ASaturatedSoftmaxHasTheSameBitsAloneAndInACrowd) {
  for (const std::string data : {"", ",sparse=0.3"}) {
    const auto task = synthetic(data);
    for (float& value : task->train.values) value *= 15;
    for (std::size_t i = 0; i < task->train.dense.size(); ++i) task->train.dense[i] *= 15;
    for (const std::string model : {"logistic", "ffn:8"}) {
      SCOPED_TRACE(model + data);
      const auto problem = models::make_problem(model, task, 1e-38);
      TrainOptions options = few_epochs();
      options.batch = 60;
      std::vector<Setting> settings = crowd();
      for (Setting& setting : settings) setting.options["lr"] = "1e-4";
      const std::vector<Member> together = train_all(*problem, settings, options, 2);
      for (std::size_t id = 0; id < settings.size(); ++id) {
        expect_same(train_all(*problem, {settings[id]}, options, 1)[0], together[id]);
        expect_same(train_all(*problem, {settings[id]}, options, 3)[0], together[id]);
      }
    }
  }
}

TEST(Trainer, ResumesToTheSameBitsAfterEveryEpoch) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.01);
  const std::vector<Member> whole = train_all(*problem, crowd(), few_epochs(), 2);
  Trainer first(*problem, crowd(), few_epochs(), pool_executor(2));
  for (std::size_t stop = 0; stop <= 3; ++stop) {
    std::stringstream checkpoint;
    first.save(checkpoint);
    Trainer second(*problem, crowd(), few_epochs(), pool_executor(1));
    second.load(checkpoint);
    EXPECT_EQ(second.epochs_done(), stop);
    while (second.epoch()) {
    }
    for (std::size_t id = 0; id < whole.size(); ++id) expect_same(second.members()[id], whole[id]);
    first.epoch();
  }
}

TEST(Trainer, RefusesACheckpointOfAnotherRun) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.01);
  Trainer trainer(*problem, crowd(), few_epochs());
  trainer.epoch();
  std::stringstream checkpoint;
  trainer.save(checkpoint);
  TrainOptions other = few_epochs();
  other.seed = 6;
  EXPECT_THROW(
      {
        Trainer second(*problem, crowd(), other);
        second.load(checkpoint);
      },
      StateError);
  const std::string bytes = checkpoint.str();
  for (const double part : {0.0, 0.1, 0.5, 0.99}) {
    std::stringstream cut(
        bytes.substr(0, static_cast<std::size_t>(part * static_cast<double>(bytes.size()))));
    Trainer second(*problem, crowd(), few_epochs());
    EXPECT_THROW(second.load(cut), StateError);
  }
}

TEST(Trainer, CountsGradientEvaluations) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.01);
  TrainOptions options = few_epochs();
  options.epochs = 2;
  const std::vector<Member> members =
      train_all(*problem, {{"adam", {}}, {"saga", {}}, {"svrg", {}}, {"storm", {}}}, options, 1);
  const std::uint64_t steps = problem->samples() / options.batch * 2;
  const std::uint64_t samples = steps * options.batch;
  EXPECT_EQ(members[0].points.back().gradient_evaluations, samples);
  EXPECT_EQ(members[1].points.back().gradient_evaluations, samples);
  EXPECT_EQ(members[2].points.back().gradient_evaluations, 2 * samples + 2 * problem->samples());
  EXPECT_EQ(members[3].points.back().gradient_evaluations, 2 * samples - options.batch);
}

// With less variance a constant rate gets further: SAGA and SVRG go on where SGD stalls.
TEST(Trainer, VarianceReductionConverges) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.05);
  TrainOptions options = few_epochs();
  options.epochs = 60;
  options.batch = 8;
  options.init = Init::zeros;
  const std::vector<Member> members = train_all(
      *problem, {{"sgd", {{"lr", "0.1"}}}, {"saga", {{"lr", "0.1"}}}, {"svrg", {{"lr", "0.1"}}}},
      options, 2);
  const double sgd = members[0].points.back().train_loss;
  const double saga = members[1].points.back().train_loss;
  const double svrg = members[2].points.back().train_loss;
  EXPECT_NEAR(saga, svrg, 1e-5);
  EXPECT_GT(sgd - saga, 10 * std::abs(saga - svrg));
}

// SGD's estimate is the batch's gradient; an average is nearer to the full one near the optimum; a
// look changes nothing.
TEST(Trainer, MeasuresEstimators) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.05);
  TrainOptions options = few_epochs();
  options.epochs = 20;
  options.diagnose = true;
  options.optimum.assign(problem->dimension(), 0.0);
  const std::vector<Setting> settings = {{"sgd", {{"lr", "0.01"}}},
                                         {"momentum", {{"lr", "0.01"}}},
                                         {"diag-to", {{"lr", "0.01"}, {"alpha", "0.01"}}},
                                         {"adam", {{"lr", "0.001"}}}};
  const std::vector<Member> members = train_all(*problem, settings, options, 2);
  const Point& sgd = members[0].points.back();
  EXPECT_NEAR(sgd.estimator_error, sgd.batch_error, 1e-5 * sgd.batch_error);
  EXPECT_GT(sgd.distance, 0);
  EXPECT_TRUE(std::isnan(sgd.delta));
  EXPECT_TRUE(std::isnan(members[0].points[0].estimator_error));
  double ratio = 0;
  for (std::size_t i = 11; i < 21; ++i) {
    const Point& point = members[1].points[i];
    ratio += point.estimator_error / point.batch_error / 10;
  }
  EXPECT_LT(ratio, 0.5);
  EXPECT_GT(members[2].points.back().delta, 0.1);
  // The residual of a trained estimator is nearer than the gradient is long, once it has learned.
  EXPECT_TRUE(std::isnan(members[2].points[0].residual));
  EXPECT_GT(members[2].points.back().residual, 0);
  EXPECT_LT(members[2].points.back().residual, 2);
  EXPECT_TRUE(std::isnan(sgd.residual));
  options.diagnose = false;
  const std::vector<Member> plain = train_all(*problem, settings, options, 1);
  for (std::size_t i = 0; i < members.size(); ++i) expect_same(members[i], plain[i]);
  // These cost nothing, and are there without being asked for.
  EXPECT_EQ(plain[2].points.back().residual, members[2].points.back().residual);
  EXPECT_EQ(plain[2].points.back().delta, members[2].points.back().delta);
}

TEST(Trainer, DivergedMembersLeaveAtOnce) {
  const auto problem = models::make_problem("logistic", synthetic(), 0);
  std::vector<Setting> settings(30, Setting{"sgd", {{"lr", "1e20"}}});
  settings.push_back({"sgd", {{"lr", "0.1"}}});
  Trainer trainer(*problem, settings, few_epochs());
  trainer.epoch();
  EXPECT_EQ(trainer.alive(), 1U);
  EXPECT_LE(trainer.members()[0].diverged_at, 5U);
  EXPECT_NO_THROW(trainer.weights(30));
  EXPECT_THROW(trainer.weights(0), std::invalid_argument);
}

TEST(Trainer, PrunedMembersLeaveAndTheRestDoesNotNotice) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.01);
  const std::vector<Member> whole = train_all(*problem, crowd(), few_epochs(), 1);
  Trainer trainer(*problem, crowd(), few_epochs(), pool_executor(2));
  trainer.epoch();
  trainer.prune({0, 2, 3, 5});  // 3 has diverged already
  std::stringstream saved;
  trainer.save(saved);
  Trainer resumed(*problem, crowd(), few_epochs(), pool_executor(2));
  resumed.load(saved);
  for (Trainer* each : {&trainer, &resumed}) {
    while (each->epoch()) {
    }
    for (const Member& member : each->members()) {
      const bool gone = member.id == 0 || member.id == 2 || member.id == 5;
      EXPECT_EQ(member.pruned, gone) << member.id;
      if (gone) {
        EXPECT_EQ(member.points.size(), 2U);
      } else {
        expect_same(member, whole[member.id]);
      }
    }
  }
}

TEST(Trainer, StopsWhenItIsToldTo) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.01);
  TrainOptions options = few_epochs();
  std::vector<double> parts;
  options.progress = [&](double part) {
    parts.push_back(part);
    return parts.size() < 20;
  };
  Trainer trainer(*problem, crowd(), options);
  EXPECT_TRUE(trainer.epoch());  // 15 steps
  EXPECT_EQ(parts.size(), 15U);
  EXPECT_EQ(parts.front(), 0);
  EXPECT_LT(parts.back(), 1);
  EXPECT_THROW(trainer.epoch(), Interrupted);
  EXPECT_EQ(trainer.epochs_done(), 1U);
}

TEST(Trainer, RefusesWhatCannotBe) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.01);
  const auto message = [&](const std::vector<Setting>& settings, const TrainOptions& options) {
    try {
      Trainer trainer(*problem, settings, options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  TrainOptions large = few_epochs();
  large.batch = 481;
  EXPECT_NE(message(crowd(), large).find("Invalid batch: 481, expected 1 to 480"),
            std::string::npos);
  EXPECT_NE(message({}, few_epochs()).find("no members"), std::string::npos);
  EXPECT_NE(message({{"adma", {}}}, few_epochs()).find("did you mean 'adam'?"), std::string::npos);
  EXPECT_NE(message({{"svgr+adam", {}}}, few_epochs()).find("did you mean 'svrg'?"),
            std::string::npos);
  EXPECT_NE(message({{"svrg+adma", {}}}, few_epochs()).find("did you mean 'adam'?"),
            std::string::npos);
  EXPECT_NE(message({{"storm", {{"storm_a", "2"}}}}, few_epochs()).find("storm_a"),
            std::string::npos);
  EXPECT_NE(message({{"adam", {{"l2", "1"}}}}, few_epochs()).find("lambda"), std::string::npos);
}

TEST(Plan, SplitsIntoWavesUnderABudget) {
  const auto problem = models::make_problem("logistic", synthetic(), 0.01);
  const std::vector<Setting> settings(10, Setting{"diag-to", {}});
  const std::size_t one = member_bytes(*problem, settings[0]);
  EXPECT_EQ(one, 3 * problem->dimension() * sizeof(float));
  EXPECT_EQ(make_plan(*problem, settings, 100 * one).waves.size(), 1U);
  const Plan plan = make_plan(*problem, settings, 4 * one);
  EXPECT_EQ(plan.waves.size(), 3U);
  EXPECT_EQ(plan.waves[1][0], 4U);
  EXPECT_EQ(plan.peak_bytes, 4 * one);
  EXPECT_THROW(make_plan(*problem, settings, one - 1), std::invalid_argument);
}

// Full-TO's history grows with the steps: a short run needs little, and the plan is never below what
// is used.
TEST(Plan, CountsTheStepsOfFullTO) {
  const auto problem = models::make_problem("logistic", wide(), 0.01);
  const std::size_t d = problem->dimension();
  ASSERT_GT(d, 512U);
  const OptionMap rates = {{"lr", "0.1"}, {"alpha", "0.0001"}, {"beta", "0.1"}};
  const auto with = [&](const OptionMap& more) {
    OptionMap options = rates;
    options.insert(more.begin(), more.end());
    return options;
  };
  const std::string limit = std::to_string(5 * d * d);
  struct Case {
    OptionMap options;
    std::size_t batch;
    std::size_t epochs;
  };
  for (const Case& one :
       {Case{rates, 100, 1}, Case{rates, 10, 1}, Case{rates, 4, 3},
        Case{with({{"form", "span"}}), 20, 2}, Case{with({{"form", "dense"}}), 100, 1},
        Case{with({{"memory-limit", limit}}), 4, 2}}) {
    TrainOptions options = few_epochs();
    options.batch = one.batch;
    options.epochs = one.epochs;
    const Setting setting{"full-to", one.options};
    const std::size_t steps = total_steps(*problem, options);
    EXPECT_EQ(steps, 1200 / one.batch * one.epochs);
    const std::size_t planned = member_bytes(*problem, setting, steps);
    Trainer trainer(*problem, {setting}, options, serial_executor());
    std::size_t used = 0;
    const std::size_t gradients = d * sizeof(float);  // counted by bytes(), not a member's
    for (bool more = true; more;) {
      more = trainer.epoch();
      used = std::max(used, trainer.bytes() - gradients);
    }
    EXPECT_GE(planned, used) << steps;
    EXPECT_LE(planned, 2 * used + (std::size_t{1} << 20)) << steps;
    EXPECT_LE(planned, member_bytes(*problem, setting)) << steps;
  }
  // 12 steps of 800 weights, for which the matrix would be 2.5 MB.
  const std::size_t few = member_bytes(*problem, {"full-to", rates}, 12);
  EXPECT_LT(few, 800U << 10);
  EXPECT_NO_THROW(make_plan(*problem, {{"full-to", rates}}, few, 12));
  EXPECT_THROW(make_plan(*problem, {{"full-to", rates}}, few), std::invalid_argument);
}

// Each thread's members may run out of what they were allowed: that is an error, not an abort.
TEST(Trainer, PassesOnWhatAStepOnAThreadThrows) {
  const auto problem = models::make_problem("logistic", wide(), 0.01);
  const std::string limit = std::to_string(60 * problem->dimension() * sizeof(float) + 300000);
  const Setting setting{"full-to",
                        {{"lr", "0.01"},
                         {"alpha", "0.0001"},
                         {"beta", "0.1"},
                         {"form", "span"},
                         {"memory_limit", limit}}};
  TrainOptions options = few_epochs();
  options.batch = 4;
  Trainer trainer(*problem, std::vector<Setting>(200, setting), options, pool_executor(2));
  EXPECT_THROW(trainer.epoch(), MemoryLimitError);
}

}  // namespace
}  // namespace tandem::train
