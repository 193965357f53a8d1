// SPDX-License-Identifier: MIT
// Verdicts of made runs: who beats whom, and what is left of it under the controls.
#include "paper/controls.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tandem::paper {
namespace {

using study::OptimizerRuns;
using study::Row;
using study::Run;
using study::StudyRuns;

constexpr std::size_t kSeeds = 5;

Run run_of(double loss, std::uint64_t seed) {
  return {.options = {{"lr", "0.1"}},
          .seed = seed,
          .points = {{.epoch = 0, .train_loss = 9}, {.epoch = 1, .train_loss = loss}}};
}

/// An optimizer whose settings gave `grid` on the tuning seed, and `measured` with a little of each
/// seed's own on the others.
OptimizerRuns runs_of(const std::string& label, const std::vector<double>& grid, double measured) {
  OptimizerRuns runs{.label = label, .method = label, .baseline = label == "adam"};
  for (const double loss : grid) runs.tuned.push_back(run_of(loss, 0));
  for (std::size_t seed = 1; seed <= kSeeds; ++seed) {
    runs.measured.push_back(run_of(measured + 1e-4 * static_cast<double>(seed % 3), seed));
  }
  return runs;
}

StudyRuns study_of(std::vector<OptimizerRuns> optimizers) {
  StudyRuns study{.name = "made", .complete = true, .epochs = 1, .seeds = {1, 2, 3, 4, 5}};
  study.tasks.push_back({.name = "task", .data = "data", .optimizers = std::move(optimizers)});
  return study;
}

Verdict verdict_of(std::vector<OptimizerRuns> optimizers) {
  return verdicts({study_of(std::move(optimizers))}).at(0);
}

TEST(PaperControls, TheEdgeOfAdamsGridExplainsTheWin) {
  const Verdict verdict =
      verdict_of({runs_of("adam", {2, 1.5}, 1.5), runs_of("momentum", {1.6}, 1.6),
                  runs_of("diag-to", {1.2, 3}, 1.2), runs_of(kWideAdam, {2, 1.5, 1.1}, 1.1)});
  EXPECT_TRUE(verdict.to_beats_adam);
  EXPECT_FALSE(verdict.momentum_beats_adam);
  EXPECT_FALSE(verdict.to_beats_wide_adam);
  EXPECT_FALSE(verdict.to_beats_wide_adam_at_equal_budget);
}

TEST(PaperControls, TheNumberOfSettingsExplainsTheWin) {
  // One lucky setting of many: the best of as few as Adam has is worse.
  std::vector<double> grid(60, 3);
  grid[7] = 1;
  const Verdict verdict =
      verdict_of({runs_of("adam", {1.5}, 1.5), runs_of("ro-to", grid, 1),
                  runs_of("momentum", {1.3, 1.3}, 1.3), runs_of(kWideAdam, {1.5, 1.4}, 1.4)});
  EXPECT_TRUE(verdict.to_beats_wide_adam);
  EXPECT_FALSE(verdict.to_beats_wide_adam_at_equal_budget);
  EXPECT_TRUE(verdict.momentum_beats_wide_adam_at_equal_budget);
}

TEST(PaperControls, LearningIsComparedWithTheSameGridWithoutIt) {
  const auto made = [](double with, double without) {
    return verdict_of({runs_of("adam", {1.5}, 1.5), runs_of("diag-to", {with, without}, with),
                       runs_of(kNoLearning, {without}, without),
                       runs_of("diag-to, alpha > 0", {with}, with)});
  };
  EXPECT_TRUE(made(1, 1.2).learning_helps);
  EXPECT_FALSE(made(1.2, 1).learning_helps);
  EXPECT_FALSE(made(1, 1).learning_helps);
}

TEST(PaperControls, AlphaOfZeroMayHaveAGridOfItsOwn) {
  const auto made = [](double with, double without) {
    return std::vector<OptimizerRuns>{
        runs_of("adam", {1.5}, 1.5), runs_of("diag-to", {with, 3}, with),
        runs_of(kNoLearning, {without, 3}, without), runs_of("adam-to", {1.1, 3}, 1.1),
        runs_of(kAdamNoLearning, {1.2, 3}, 1.2)};
  };
  EXPECT_TRUE(verdict_of(made(1, 1.2)).learning_helps);
  EXPECT_FALSE(verdict_of(made(1.2, 1)).learning_helps);
  const std::vector<Row> rows = against_no_learning(study_of(made(1, 1.25)));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].optimizer, "diag-to");
  EXPECT_NEAR(*rows[0].rho, 0.2, 1e-3);
  EXPECT_EQ(rows[1].optimizer, "adam-to");
  EXPECT_NEAR(*rows[1].rho, 1 - 1.1 / 1.2, 1e-3);
}

TEST(PaperControls, RowsAreAgainstTheOtherBaseline) {
  const StudyRuns study = study_of({runs_of("adam", {2}, 2), runs_of("momentum", {1.5}, 1.5),
                                    runs_of(kWideAdam, {1}, 1), runs_of("adam-to", {0.5}, 0.5)});
  const std::vector<Row> rows = against_wide_adam(study);
  ASSERT_EQ(rows.size(), 2U);  // the study has no other forms
  EXPECT_EQ(rows[0].optimizer, "momentum");
  EXPECT_NEAR(*rows[0].rho, -0.5, 1e-3);
  EXPECT_EQ(rows[0].mark, '-');
  EXPECT_EQ(rows[1].optimizer, "adam-to");
  EXPECT_NEAR(*rows[1].rho, 0.5, 1e-3);
  EXPECT_TRUE(rows[1].p_holm.has_value());
  EXPECT_TRUE(against(study, "nobody", {"adam-to"}).empty());
}

TEST(PaperControls, FewerEpochsHaveTheirOwnBest) {
  StudyRuns study = study_of({runs_of("adam", {}, 1), runs_of("momentum", {}, 1)});
  study.epochs = 3;
  const auto curve = [](std::initializer_list<double> losses) {
    study::Run run;
    for (const double loss : losses) {
      run.points.push_back({.epoch = run.points.size(), .train_loss = loss});
    }
    return run;
  };
  auto& optimizers = study.tasks[0].optimizers;
  optimizers[0].tuned = {curve({9, 4, 4, 2})};
  optimizers[1].tuned = {curve({9, 3, 5, 6}), curve({9, 8, 3, 1}), curve({0, 1, 1, 1})};
  optimizers[1].tuned[2].diverged = true;
  const std::vector<RhoByEpochs> lines = rho_by_epochs(study);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].optimizer, "momentum");
  EXPECT_EQ(lines[0].epochs, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(lines[0].rho, (std::vector<std::optional<double>>{0.25, 0.25, 0.5}));
  study.pruned = true;
  EXPECT_TRUE(rho_by_epochs(study).empty());
}

TEST(PaperControls, CountsAreThoseOfTheVerdicts) {
  const std::vector<Verdict> made{
      {.task = "a", .to_beats_adam = true, .has_wide_adam = true, .to_beats_wide_adam = true},
      {.task = "b", .to_beats_adam = true},
      {.task = "c", .momentum_beats_adam = true}};
  const std::string text = verdict_text(made);
  EXPECT_NE(text.find("Of 3 tasks, a form of TO (full, diag, ro) beats Adam in 2"),
            std::string::npos);
  EXPECT_NE(text.find("momentum does in 1. "), std::string::npos);
  EXPECT_NE(text.find("TO still beats it in 1, and at an equal number of settings tried in 0"),
            std::string::npos);
  // What no study has is not counted as lost.
  EXPECT_EQ(verdict_text({{.task = "a"}}).find("TO's rates"), std::string::npos);
}

}  // namespace
}  // namespace tandem::paper
