// SPDX-License-Identifier: MIT
#include "report/study_figures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem::report {
namespace {

/// A run with these losses, its seconds and evaluations by the epoch.
study::Run run_of(const std::vector<double>& losses, double seconds = 1) {
  study::Run run;
  for (std::size_t e = 0; e < losses.size(); ++e) {
    train::Point point;
    point.epoch = e;
    point.gradient_evaluations = 10 * e;
    point.seconds = seconds * static_cast<double>(e);
    point.train_loss = losses[e];
    point.validation_loss = std::nan("");
    run.points.push_back(point);
  }
  return run;
}

study::OptimizerRuns optimizer_of(const std::string& label, std::vector<study::Run> runs) {
  study::OptimizerRuns optimizer;
  optimizer.label = optimizer.method = label;
  optimizer.measured = std::move(runs);
  return optimizer;
}

study::TaskRuns example() {
  study::TaskRuns task;
  task.data = "d";
  task.model = "logistic";
  task.lambda = 0.5;
  task.samples = 5;
  task.optimizers = {optimizer_of("adam", {run_of({4, 3, 1}, 1), run_of({4, 5, 2}, 3)}),
                     optimizer_of("mine", {run_of({4, 2, 2}), run_of({4, 1e9})}),
                     optimizer_of("none", {})};
  task.optimizers[1].measured[1].diverged = true;
  return task;
}

using Values = std::vector<double>;

TEST(StudyFigures, ValidationLossWhereSomethingWasHeldOut) {
  study::TaskRuns task = example();
  EXPECT_FALSE(validation_figure(task));
  for (study::Run& run : task.optimizers[0].measured) {
    for (train::Point& point : run.points) point.validation_loss = 2 * point.train_loss;
  }
  const auto figure = validation_figure(task);
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->series[0].y, (std::vector<double>{8, 8, 3}));
  EXPECT_EQ(figure->y.label, "validation loss");
  EXPECT_EQ(figure->name, "d-logistic-0.5-validation");
}

TEST(StudyFigures, AModelThatIsAPathGivesAFileName) {
  study::TaskRuns task = example();
  task.model = "llama:a/b.bin,train=norm";
  EXPECT_EQ(loss_figure(task).name, "d-llama:a-b.bin-0.5-loss");
}

TEST(StudyFigures, LossIsTheMeanWithABand) {
  const Figure figure = loss_figure(example());
  ASSERT_EQ(figure.series.size(), 2U);
  EXPECT_EQ(figure.series[0].label, "adam");
  EXPECT_EQ(figure.series[0].x, (Values{0, 1, 2}));
  EXPECT_EQ(figure.series[0].y, (Values{4, 4, 1.5}));
  EXPECT_EQ(figure.series[0].low, (Values{4, 3, 1}));
  EXPECT_EQ(figure.series[0].high, (Values{4, 5, 2}));
  EXPECT_EQ(figure.series[1].y, (Values{4, 2, 2}));
  EXPECT_TRUE(figure.series[1].low.empty());
  EXPECT_EQ(figure.caption,
            "Mean over 1 to 2 seeds; the band goes from the smallest to the largest value. "
            "Left out as diverged: mine (1 of 2 runs). No measured runs yet: none.");
  EXPECT_EQ(figure.title, "Training loss: d, logistic, λ = 0.5");
}

TEST(StudyFigures, AFarStartIsLeftOut) {
  study::TaskRuns task = example();
  task.optimizers = {optimizer_of("adam", {run_of({100, 3, 2})})};
  const Figure figure = loss_figure(task);
  EXPECT_EQ(figure.series[0].x, (Values{1, 2}));
  EXPECT_EQ(figure.caption, "One seed. The start, at 100, is left out.");
  EXPECT_EQ(figure.y.scale, Scale::linear);
  task.optimizers[0].measured = {run_of({100, 60, 2})};
  EXPECT_EQ(loss_figure(task).y.scale, Scale::log);
}

TEST(StudyFigures, StandardisedIsBetweenZeroAndOneWithoutTheStart) {
  const Figure figure = standardised_figure(example());
  EXPECT_EQ(figure.series[0].x, (Values{1, 2}));
  EXPECT_EQ(figure.series[0].y, (Values{0.75, 0.125}));
  EXPECT_EQ(figure.series[0].low, (Values{0.5, 0}));
  EXPECT_EQ(figure.series[0].high, (Values{1, 0.25}));
  EXPECT_EQ(figure.series[1].y, (Values{0.25, 0.25}));
}

TEST(StudyFigures, DeviationNeedsTwoSeeds) {
  const auto figure = deviation_figure(example());
  ASSERT_TRUE(figure);
  ASSERT_EQ(figure->series.size(), 1U);
  EXPECT_EQ(figure->series[0].y, (Values{0, std::sqrt(2.0), std::sqrt(0.5)}));
  study::TaskRuns task = example();
  task.optimizers.erase(task.optimizers.begin());
  EXPECT_FALSE(deviation_figure(task));
}

TEST(StudyFigures, GapNeedsTheOptimum) {
  study::TaskRuns task = example();
  EXPECT_FALSE(gap_figure(task));
  task.optimum = 1;
  const auto figure = gap_figure(task);
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->y.scale, Scale::log);
  EXPECT_EQ(figure->series[0].y, (Values{3, 3, 0.5}));
  EXPECT_EQ(figure->series[0].low, (Values{3, 2, 0}));
  EXPECT_NE(figure->caption.find("F* = 1."), std::string::npos);
}

TEST(StudyFigures, CompareAtEqualEvaluationsAndSeconds) {
  EXPECT_EQ(evaluations_figure(example()).series[0].x, (Values{0, 2, 4}));  // passes
  EXPECT_EQ(seconds_figure(example()).series[0].x, (Values{0, 2, 4}));      // means over seeds
  EXPECT_NE(seconds_figure(example()).x.label.find("(s)"), std::string::npos);
}

TEST(StudyFigures, EstimatorErrorIsARatio) {
  study::TaskRuns task = example();
  EXPECT_FALSE(estimator_figure(task));
  for (std::size_t s = 0; s < 2; ++s) {
    train::Point& point = task.optimizers[0].measured[s].points[2];
    point.estimator_error = s == 0 ? 1 : 3;
    point.batch_error = s == 0 ? 2 : 4;
  }
  const auto figure = estimator_figure(task);
  ASSERT_TRUE(figure);
  ASSERT_EQ(figure->series.size(), 1U);
  EXPECT_EQ(figure->series[0].x, (Values{2}));
  EXPECT_EQ(figure->series[0].y, (Values{4.0 / 6}));
  EXPECT_EQ(figure->series[0].low, (Values{0.5}));
  EXPECT_EQ(figure->series[0].high, (Values{0.75}));
}

TEST(StudyFigures, SeedsOfDifferentLengthAreDrawnAsFarAsAllGo) {
  study::TaskRuns task = example();
  task.optimizers[0].measured[1] = run_of({4, 5});
  const Figure figure = loss_figure(task);
  EXPECT_EQ(figure.series[0].x, (Values{0, 1}));
  EXPECT_NE(figure.caption.find("Drawn as far as all seeds go: adam."), std::string::npos);
}

TEST(StudyFigures, AllOfATask) {
  study::TaskRuns task = example();
  EXPECT_EQ(task_figures(task).size(), 5U);
  task.optimum = 0;
  EXPECT_EQ(task_figures(task, {{.label = "adam", .n = {1, 2}, .expected = {3, 2}}}).size(), 7U);
  const std::vector<Figure> empty = task_figures({});
  for (const Figure& figure : empty) EXPECT_TRUE(drawing_of(figure).empty);
}

}  // namespace
}  // namespace tandem::report
