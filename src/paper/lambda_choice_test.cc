// SPDX-License-Identifier: MIT
// The choice of lambda on made runs: which one, ties, divergence, draws, and what is refused.
#include "paper/lambda_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "study/builtin.h"
#include "study/study_file.h"

namespace tandem::paper {
namespace {

using study::builtin_study;
using study::OptimizerRuns;
using study::parse_study;
using study::Run;
using study::StudyRuns;
using study::StudySpec;
using study::TaskRuns;
using study::TaskSpec;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Epoch {
  double loss;
  double accuracy;
};

/// Its first point is the start, better than all: it must not count.
Run made_run(const std::string& lr, std::uint64_t seed, const std::vector<Epoch>& epochs) {
  Run run;
  run.options = {{"lr", lr}, {"beta1", "0.9"}};
  run.seed = seed;
  train::Point point;
  point.train_loss = 1;
  point.validation_loss = epochs.empty() || std::isnan(epochs[0].loss) ? kNone : 1e-9;
  point.validation_accuracy = std::isnan(point.validation_loss) ? kNone : 1;
  run.points.push_back(point);
  for (const Epoch& epoch : epochs) {
    ++point.epoch;
    point.validation_loss = epoch.loss;
    point.validation_accuracy = epoch.accuracy;
    run.points.push_back(point);
  }
  return run;
}

TaskRuns made_task(double lambda, std::vector<Run> tuned, std::vector<Run> measured = {}) {
  TaskRuns task;
  task.name = "made lambda=" + std::to_string(lambda);
  task.data = "made";
  task.model = "logistic";
  task.lambda = lambda;
  OptimizerRuns other;
  other.method = "momentum";
  other.tuned = {made_run("9", 0, {{1e-6, 1}})};  // not Adam's: must not count
  OptimizerRuns adam;
  adam.method = "adam";
  adam.grid = {{"lr", {"1", "2"}}};
  adam.tuned = std::move(tuned);
  adam.measured = std::move(measured);
  task.optimizers = {other, adam};
  return task;
}

StudyRuns made_study(std::vector<TaskRuns> tasks) {
  StudyRuns study;
  study.name = "made";
  study.complete = true;
  study.tasks = std::move(tasks);
  return study;
}

LambdaChoice the_choice(std::vector<TaskRuns> tasks) {
  const std::vector<LambdaChoice> choices = choose_lambda(made_study(std::move(tasks)));
  EXPECT_EQ(choices.size(), 1U);
  return choices.at(0);
}

void expect_refusal(const StudyRuns& study, const std::vector<std::string>& parts) {
  try {
    choose_lambda(study);
    ADD_FAILURE() << "was not refused";
  } catch (const std::invalid_argument& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(LambdaChoice, TakesTheLeastValidationLossOverSettingsAndEpochs) {
  // Out of order, and the least is neither the last epoch nor the first setting.
  const LambdaChoice choice =
      the_choice({made_task(0.5, {made_run("1", 0, {{0.7, 0.5}, {0.6, 0.6}})}),
                  made_task(0.1, {made_run("1", 0, {{0.9, 0.4}, {0.5, 0.7}}),
                                  made_run("2", 0, {{0.8, 0.5}, {0.3, 0.6}, {0.4, 0.8}})}),
                  made_task(0, {made_run("1", 0, {{0.35, 0.9}})})});
  EXPECT_EQ(choice.data, "made");
  ASSERT_EQ(choice.scores.size(), 3U);
  EXPECT_EQ(choice.scores[0].lambda, 0);
  EXPECT_EQ(choice.scores[2].lambda, 0.5);
  EXPECT_EQ(choice.chosen, 0.1);
  EXPECT_EQ(choice.by_accuracy, 0);
  EXPECT_EQ(choice.by_measured, std::nullopt);  // nothing was measured
  const LambdaScore& score = choice.scores[1];
  ASSERT_TRUE(score.best);
  EXPECT_EQ(score.best->loss, 0.3);
  EXPECT_EQ(score.best->accuracy, 0.6);
  EXPECT_EQ(score.best->epoch, 2U);
  EXPECT_EQ(score.best->options, (OptionMap{{"lr", "2"}}));
  EXPECT_EQ(score.accuracy, 0.8);
}

TEST(LambdaChoice, TiesGoToTheLeastLambdaAndAccuracyAgreesWhereItCan) {
  const LambdaChoice choice = the_choice({made_task(0.2, {made_run("1", 0, {{0.3, 0.5}})}),
                                          made_task(0.1, {made_run("1", 0, {{0.3, 0.9}})}),
                                          made_task(0, {made_run("1", 0, {{0.4, 0.9}})})});
  EXPECT_EQ(choice.chosen, 0.1);
  EXPECT_EQ(choice.by_accuracy, 0.1);  // as good as 0, which is less
  const LambdaChoice other = the_choice({made_task(0.2, {made_run("1", 0, {{0.3, 0.5}})}),
                                         made_task(0.1, {made_run("1", 0, {{0.4, 0.9}})}),
                                         made_task(0, {made_run("1", 0, {{0.4, 0.9}})})});
  EXPECT_EQ(other.chosen, 0.2);
  EXPECT_EQ(other.by_accuracy, 0);
}

TEST(LambdaChoice, SettingsThatDivergedDoNotCountAndPrunedOnesDo) {
  study::Run diverged = made_run("1", 0, {{0.1, 1}});
  diverged.diverged = true;
  study::Run pruned = made_run("2", 0, {{0.4, 0.5}});
  pruned.pruned = true;
  const LambdaChoice choice =
      the_choice({made_task(0, {diverged}), made_task(0.1, {diverged, pruned}),
                  made_task(0.2, {made_run("1", 0, {{0.5, 0.4}})})});
  EXPECT_FALSE(choice.scores[0].best);
  EXPECT_FALSE(choice.scores[0].accuracy);
  EXPECT_EQ(choice.chosen, 0.1);
  EXPECT_EQ(choice.scores[1].best->loss, 0.4);
  const LambdaChoice none = the_choice({made_task(0, {diverged}), made_task(0.1, {diverged})});
  EXPECT_EQ(none.chosen, std::nullopt);
  EXPECT_EQ(none.by_accuracy, std::nullopt);
}

TEST(LambdaChoice, MeasuredSeedsStandBesideIt) {
  study::Run diverged = made_run("1", 4, {{0.01, 1}});
  diverged.diverged = true;
  const LambdaChoice choice = the_choice(
      {made_task(0, {made_run("2", 0, {{0.3, 0.5}})},
                 {made_run("1", 1, {{0.5, 0.6}, {0.9, 0.7}}),
                  made_run("1", 2, {{0.8, 0.5}, {0.7, 0.5}}), diverged}),
       made_task(0.1, {made_run("2", 0, {{0.4, 0.5}})}, {made_run("1", 1, {{0.2, 0.6}})})});
  const LambdaScore& score = choice.scores[0];
  EXPECT_EQ(score.measured, 3U);
  EXPECT_EQ(score.measured_diverged, 1U);
  EXPECT_EQ(score.measured_options, (OptionMap{{"lr", "1"}}));
  EXPECT_NEAR(score.measured_loss.mean.value(), 0.6, 1e-15);
  EXPECT_NEAR(score.measured_loss.deviation.value(), std::sqrt(0.02), 1e-15);
  EXPECT_NEAR(score.measured_accuracy.mean.value(), 0.6, 1e-15);
  EXPECT_EQ(choice.scores[1].measured_loss.deviation, std::nullopt);
  EXPECT_EQ(choice.chosen, 0);
  EXPECT_EQ(choice.by_measured, 0.1);
}

TEST(LambdaChoice, EachDataSetChoosesForItself) {
  TaskRuns other = made_task(0, {made_run("1", 0, {{0.1, 1}})});
  other.data = "other";
  const auto choices =
      choose_lambda(made_study({made_task(0, {made_run("1", 0, {{0.4, 0.5}})}), other,
                                made_task(0.1, {made_run("1", 0, {{0.3, 0.5}})})}));
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0].chosen, 0.1);
  EXPECT_EQ(choices[1].data, "other");
  EXPECT_EQ(choices[1].chosen, 0);
}

TEST(LambdaChoice, RefusesWhatCannotChoose) {
  const TaskRuns good = made_task(0.25, {made_run("1", 0, {{0.4, 0.5}})});
  expect_refusal(made_study({made_task(0, {made_run("1", 0, {{kNone, kNone}})})}),
                 {"'made'", "no validation loss on made lambda=0", "'validation'"});
  expect_refusal(made_study({good, good}), {"lambda = 0.25 twice on made"});
  StudyRuns study = made_study({good});
  study.tasks[0].optimizers.pop_back();
  expect_refusal(study, {"no optimizer adam on made lambda=0.25"});
  study = made_study({good});
  study.complete = false;
  expect_refusal(study, {"'made'", "not complete"});
}

TEST(LambdaDraws, ArePositiveAndOfTheSeedAndTheDataSet) {
  std::size_t negative = 0;
  double squares = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const LambdaDraws draws = draw_lambdas(seed, "made");
    ASSERT_EQ(draws.values.size(), 5U);
    for (const double value : draws.values) {
      EXPECT_GT(value, 0);
      squares += value * value;
    }
    negative += draws.negative;
  }
  // Half of all draws are negative, and the square of N(0, 1) is 1 in the mean.
  EXPECT_NEAR(static_cast<double>(negative), 2000, 200);
  EXPECT_NEAR(squares / 2000, 1, 0.15);
  EXPECT_EQ(draw_lambdas(1, "made").values, draw_lambdas(1, "made").values);
  EXPECT_NE(draw_lambdas(1, "made").values, draw_lambdas(2, "made").values);
  EXPECT_NE(draw_lambdas(1, "made").values, draw_lambdas(1, "other").values);
  std::vector<double> first = draw_lambdas(1, "made").values;
  first.resize(2);
  EXPECT_EQ(draw_lambdas(1, "made", 2).values, first);
}

TEST(PaperLambda, TheStudiesAreTheProtocolAndTheTablesLambdasAreThoseOfTheOtherStudies) {
  for (const auto& [data, file] :
       std::vector<std::pair<std::string, std::string>>{{"smallnorb", "smallnorb"},
                                                        {"covtype", "covtype"},
                                                        {"nsl-kdd", "kdd"},
                                                        {"news20", "news20"},
                                                        {"mnist", "mnist"}}) {
    const StudySpec study =
        parse_study(builtin_study("paper/lambda-" + file + ".toml"), "lambda.toml");
    ASSERT_EQ(study.optimizers.size(), 1U);
    EXPECT_FALSE(study.optimum);
    std::vector<double> lambdas;
    for (const TaskSpec& task : study.tasks) {
      EXPECT_EQ(task.data, data);
      EXPECT_EQ(task.batch, 64U);
      EXPECT_EQ(task.validation > 0, data != "mnist" && data != "smallnorb") << data;
      lambdas.push_back(task.lambda);
    }
    EXPECT_EQ(lambdas, (std::vector<double>{0, 5e-4, 1e-3, 5e-3, 0.01, 0.05}));

    const PaperLambda* paper = paper_lambda(data);
    ASSERT_NE(paper, nullptr) << data;
    EXPECT_EQ(paper->draws.empty(), paper->chosen > 0) << data;
    std::vector<double> used;
    for (const TaskSpec& task :
         parse_study(builtin_study("paper/strongly-convex-" + file + ".toml"), "other.toml")
             .tasks) {
      used.push_back(task.lambda);
    }
    EXPECT_EQ(used, paper->chosen > 0 ? std::vector<double>{paper->chosen} : paper->draws) << data;
  }
  EXPECT_EQ(paper_lambda("made"), nullptr);
}

}  // namespace
}  // namespace tandem::paper
