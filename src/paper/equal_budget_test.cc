// SPDX-License-Identifier: MIT
// Equal budgets on grids made by hand.
#include "paper/equal_budget.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "paper/controls.h"

namespace tandem::paper {
namespace {

using study::OptimizerRuns;
using study::Run;

/// One epoch on three seeds; a negative loss is of a run that diverged.
void add(OptimizerRuns& runs, const OptionMap& options, const std::vector<double>& losses) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Run run{.options = options, .seed = seed};
    run.points.push_back({.epoch = 0, .train_loss = 9, .data_loss = 9});
    if (losses[seed] > 0) {
      run.points.push_back({.epoch = 1, .train_loss = losses[seed], .data_loss = losses[seed] / 2});
    }
    run.diverged = losses[seed] < 0;
    (seed == 0 ? runs.tuned : runs.others).push_back(std::move(run));
  }
}

struct Example {
  study::StudySpec spec{.name = "p", .epochs = 1, .seeds = {1, 2}, .measure_all = true};
  study::StudyRuns runs{.name = "p", .epochs = 1, .tune_seed = 0, .seeds = {1, 2}};

  Example() {
    spec.tasks.push_back({.data = "nsl-kdd", .lambda = 0.97});
    OptimizerRuns wide{.label = kWideAdam, .method = "adam"};
    add(wide, {{"lr", "0.1"}}, {1, 1, 1});
    OptimizerRuns diag{.label = "diag-to", .method = "diag-to"};
    add(diag, {{"lr", "0.1"}, {"alpha", "0"}}, {0.8, 0.8, 0.8});
    add(diag, {{"lr", "0.2"}, {"alpha", "0"}}, {2, 2, 2});
    add(diag, {{"lr", "0.1"}, {"alpha", "0.1"}}, {0.6, 0.6, 0.6});
    runs.tasks.push_back({.name = study::task_name(spec.tasks.front()),
                          .data = "nsl-kdd",
                          .model = "logistic",
                          .lambda = 0.97,
                          .optimizers = {wide, diag}});
  }
};

const BudgetRow* row_of(const std::vector<BudgetRow>& rows, const std::string& optimizer) {
  for (const BudgetRow& row : rows) {
    if (row.optimizer == optimizer) return &row;
  }
  return nullptr;
}

TEST(EqualBudget, AsManySettingsAsTheSmallerGridHas) {
  const Example example;
  const auto rows = equal_budgets(example.spec, example.runs, {.epochs = 1});
  ASSERT_EQ(rows.size(), 2U);  // neither RO-TO nor momentum is there
  const BudgetRow* diag = row_of(rows, "diag-to");
  ASSERT_NE(diag, nullptr);
  EXPECT_EQ(diag->against, kWideAdam);
  EXPECT_EQ(diag->settings, 1U);
  EXPECT_EQ(diag->rhos.size(), 6U);
  EXPECT_NEAR(diag->rho.value(), 0.2, 1e-12);    // the median of 0.6, 0.8 and 2 against 1
  EXPECT_NEAR(diag->whole.value(), 0.4, 1e-12);  // the best of all
  const BudgetRow* learning = row_of(rows, "diag-to, alpha > 0");
  ASSERT_NE(learning, nullptr);
  EXPECT_EQ(learning->against, kNoLearning);
  EXPECT_NEAR(learning->rho.value(), 0.25, 1e-12);  // 0.6 against 0.8, the lower median of two
}

TEST(EqualBudget, OneSeedChoosesAndAnotherScores) {
  Example example;
  OptimizerRuns& diag = example.runs.tasks[0].optimizers[1];
  diag.tuned.clear();
  diag.others.clear();
  add(diag, {{"lr", "0.1"}, {"alpha", "0.1"}}, {0.5, 0.9, 0.9});  // the best of seed 0 alone
  add(diag, {{"lr", "0.2"}, {"alpha", "0.1"}}, {0.8, 0.8, 0.8});
  const auto rows = equal_budgets(example.spec, example.runs, {.epochs = 1});
  ASSERT_EQ(rows.size(), 1U);  // there is no alpha = 0
  // Chosen on seed 0: 0.9 and 0.9; on 1: 0.8 (seed 0) and 0.8; on 2 the same.
  EXPECT_NEAR(rows[0].whole.value(), (2 * 0.1 + 4 * 0.2) / 6, 1e-12);
}

TEST(EqualBudget, WhatDivergesOnTheScoringSeedHasNoRho) {
  Example example;
  OptimizerRuns& diag = example.runs.tasks[0].optimizers[1];
  diag.tuned.clear();
  diag.others.clear();
  add(diag, {{"lr", "0.1"}, {"alpha", "0.1"}}, {0.5, 0.5, -1});
  const auto rows = equal_budgets(example.spec, example.runs, {.epochs = 1});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].diverged, 4U);  // scored on seed 2, and chosen by it, where all are equal
  EXPECT_EQ(rows[0].rhos.size(), 2U);
  EXPECT_FALSE(rows[0].rho.has_value());
}

TEST(EqualBudget, OnTasksOfTheProtocolWithItsLossAndEpochs) {
  const Example example;
  const auto rows =
      equal_budgets(example.spec, example.runs, {.report = study::ReportLoss::data, .epochs = 1});
  EXPECT_NEAR(row_of(rows, "diag-to")->rho.value(), 0.2, 1e-12);
  EXPECT_TRUE(equal_budgets(example.spec, example.runs,
                            {.loss = problems::Loss::double_softmax, .epochs = 1})
                  .empty());
}

}  // namespace
}  // namespace tandem::paper
