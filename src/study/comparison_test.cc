// SPDX-License-Identifier: MIT
// Rows of a comparison: a made-up study against the rows that
// tests/reference/statistics_reference.py found for it, and each corner case by itself.
#include "study/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "study/test_studies.h"

namespace tandem::study {
namespace {

using Runs = std::vector<Run>;  // inside a test, Run is its own

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Losses from the start on, an epoch a point; an epoch costs 100 evaluations and a second.
Run make_run(const std::vector<double>& losses, OptionMap options = {}, std::uint64_t seed = 0) {
  Run run;
  run.options = std::move(options);
  run.seed = seed;
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
    train::Point point;
    point.epoch = epoch;
    point.gradient_evaluations = 100 * epoch;
    point.seconds = static_cast<double>(epoch);
    point.train_loss = losses[epoch];
    run.points.push_back(point);
  }
  return run;
}

Run diverged_run(OptionMap options = {}, std::uint64_t seed = 0) {
  Run run = make_run({2, 0.01}, std::move(options), seed);
  run.diverged = true;
  return run;
}

/// A baseline "a" and a rival "b" on one task; both tuned to 1 and measured on seeds 1, 2, 3 with
/// these least losses.
StudyRuns duel(const std::vector<double>& baseline, const std::vector<double>& rival) {
  StudyRuns study;
  study.name = "duel";
  study.epochs = 2;
  TaskRuns& task = study.tasks.emplace_back();
  task.data = "data";
  for (const auto& [label, losses] : {std::pair("a", baseline), std::pair("b", rival)}) {
    OptimizerRuns& runs = task.optimizers.emplace_back();
    runs.label = label;
    runs.baseline = runs.label == "a";
    runs.tuned = {make_run({2, 1, 1.5})};
    for (std::size_t i = 0; i < losses.size(); ++i) {
      runs.measured.push_back(make_run({9, losses[i], losses[i] + 1}, {}, i + 1));
    }
  }
  for (std::size_t i = 0; i < std::max(baseline.size(), rival.size()); ++i) {
    study.seeds.push_back(i + 1);
  }
  return study;
}

OptimizerRuns& rival_of(StudyRuns& study) { return study.tasks[0].optimizers[1]; }
OptimizerRuns& baseline_of(StudyRuns& study) { return study.tasks[0].optimizers[0]; }

TEST(Comparison, RowsAreThoseOfTheReference) {
  const std::vector<Row> rows = compare(fixture_study());
  const Json& expected = fixture().at("rows");
  ASSERT_EQ(rows.size(), expected.size());
  constexpr double kTolerance = 1e-9;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const Json& want = expected[i];
    SCOPED_TRACE(row.data + " " + row.optimizer);
    EXPECT_EQ(row.data, want.at("data"));
    EXPECT_EQ(row.optimizer, want.at("optimizer"));
    expect_near(row.rho, want.at("rho"), kTolerance);
    expect_near(row.s, want.at("s"), kTolerance);
    expect_near(row.p, want.at("p"), kTolerance);
    expect_near(row.p_holm, want.at("p_holm"), kTolerance);
    expect_near(row.rho_evaluations, want.at("rho_evaluations"), kTolerance);
    expect_near(row.rho_seconds, want.at("rho_seconds"), kTolerance);
    expect_near(row.rho_tuned, want.at("rho_tuned"), kTolerance);
    expect_near(row.rho_budget, want.at("rho_budget"), kTolerance);
    expect_near(row.tuned_loss, want.at("tuned_loss"), kTolerance);
    expect_near(row.seconds, want.at("seconds"), kTolerance);
    EXPECT_EQ(row.mark ? Json(std::string(1, *row.mark)) : Json(nullptr), want.at("mark"));
    EXPECT_EQ(row.diverged, want.at("diverged"));
    EXPECT_EQ(row.members, want.at("members"));
    EXPECT_EQ(row.measured_diverged, want.at("measured_diverged"));
    expect_near(row.gradient_evaluations, want.at("gradient_evaluations"), 0);
    for (std::size_t end = 0; row.interval && end < 2; ++end) {
      expect_near((*row.interval)[end], want.at("interval").at(end), kTolerance);
    }
    ASSERT_EQ(row.min_loss.size(), want.at("min_loss").size());
    for (std::size_t seed = 0; seed < row.seeds.size(); ++seed) {
      expect_near(row.min_loss[seed], want.at("min_loss").at(seed), kTolerance);
      expect_near(row.gap.at(seed), want.at("gap").at(seed), kTolerance);
      expect_near(row.rho_seeds.at(seed), want.at("rho_seeds").at(seed), kTolerance);
    }
    if (row.members > 1) {
      expect_near(row.best_of.at(1).expected, want.at("best_of_2"), kTolerance);
    }
  }
}

TEST(Comparison, TuningPicksTheFirstOfTheLeastThatNeitherDivergedNorWasPruned) {
  Runs tuned = {
      make_run({9, 3, 2, 5}, {{"lr", "1"}}),   diverged_run({{"lr", "2"}}),
      make_run({9, 1.5, 1.25}, {{"lr", "3"}}), make_run({9, 1.25, 1.5}, {{"lr", "4"}}),
      make_run({0.5, 2, 2}, {{"lr", "5"}}),  // the start does not count
      make_run({9, 0.5, kNan}, {{"lr", "6"}}), make_run({9, 0.75}, {{"lr", "7"}}),
  };
  tuned.back().pruned = true;
  ASSERT_NE(best_of_grid(tuned), nullptr);
  EXPECT_EQ(best_of_grid(tuned)->options.at("lr"), "3");
  OptimizerRuns runs;
  runs.tuned = tuned;
  EXPECT_EQ(best_of_grid(runs), &runs.tuned[2]);
  EXPECT_EQ(best_of_grid(Runs{}), nullptr);
  EXPECT_EQ(best_of_grid(Runs{diverged_run()}), nullptr);
}

TEST(Comparison, SeedsAreMatchedWhateverTheirOrder) {
  StudyRuns study = duel({1, 2, 4}, {0.5, 1.5, 1});
  std::reverse(rival_of(study).measured.begin(), rival_of(study).measured.end());
  const Row row = compare(study)[1];
  EXPECT_EQ(row.rho_seeds, (PerSeed{0.5, 0.25, 0.75}));
  EXPECT_DOUBLE_EQ(*row.rho, 0.5);
  EXPECT_EQ(row.mark, '+');
  EXPECT_EQ(row.min_loss, (PerSeed{0.5, 1.5, 1}));
  EXPECT_EQ(row.gap, PerSeed(3));
}

TEST(Comparison, TheBaselineIsNotComparedWithItself) {
  const Row row = compare(duel({1, 2, 4}, {0.5, 1.5, 1}))[0];
  EXPECT_TRUE(row.baseline);
  EXPECT_EQ(row.rho_seeds, PerSeed(3));
  EXPECT_FALSE(row.rho || row.mark || row.s || row.p || row.p_holm || row.interval);
  EXPECT_FALSE(row.rho_evaluations || row.rho_seconds || row.rho_tuned || row.rho_budget);
  EXPECT_EQ(row.min_loss, (PerSeed{1, 2, 4}));
  EXPECT_EQ(row.seconds, 2.0);
  EXPECT_EQ(row.gradient_evaluations, 200U);
}

TEST(Comparison, OneSeedHasRhoAndNoTest) {
  const Row row = compare(duel({1}, {0.75}))[1];
  EXPECT_EQ(row.rho, 0.25);
  EXPECT_FALSE(row.s || row.p || row.p_holm || row.interval || row.mark);
}

TEST(Comparison, AMeasuredSeedThatDivergesIsWorse) {
  StudyRuns study = duel({1, 2, 4}, {0.5, 1.5, 1});
  rival_of(study).measured[1] = diverged_run({}, 2);
  const Row row = compare(study)[1];
  EXPECT_FALSE(row.rho || row.s || row.p || row.p_holm || row.rho_evaluations || row.rho_seconds);
  EXPECT_EQ(row.mark, '-');
  EXPECT_EQ(row.measured, 3U);
  EXPECT_EQ(row.measured_diverged, 1U);
  EXPECT_EQ(row.rho_seeds, (PerSeed{0.5, std::nullopt, 0.75}));
  EXPECT_EQ(row.seconds, 2.0);  // of those that did not
}

TEST(Comparison, WhereTheBaselineDivergesThereIsNoRhoAndNoMark) {
  StudyRuns study = duel({1, 2, 4}, {0.5, 1.5, 1});
  baseline_of(study).measured[0] = diverged_run({}, 1);
  Row row = compare(study)[1];
  EXPECT_FALSE(row.rho || row.s || row.p || row.mark);
  EXPECT_EQ(row.rho_seeds, (PerSeed{std::nullopt, 0.25, 0.75}));
  rival_of(study).measured[0] = diverged_run({}, 1);
  EXPECT_FALSE(compare(study)[1].mark);

  baseline_of(study).tuned = {diverged_run()};
  baseline_of(study).measured.clear();
  row = compare(study)[1];
  EXPECT_FALSE(row.rho || row.mark || row.rho_tuned || row.rho_budget);
  EXPECT_EQ(row.rho_seeds, PerSeed(3));
}

TEST(Comparison, AGridThatDivergesAsAWholeIsWorse) {
  StudyRuns study = duel({1, 2, 4}, {});
  rival_of(study).tuned = {diverged_run(), diverged_run()};
  const Row row = compare(study)[1];
  EXPECT_EQ(row.diverged, 2U);
  EXPECT_EQ(row.members, 2U);
  EXPECT_EQ(row.mark, '-');
  EXPECT_FALSE(row.rho || row.p || row.tuned_loss || row.state_bytes || row.seconds);
  EXPECT_TRUE(row.options.empty());
}

TEST(Comparison, ALossThatIsNotPositiveHasNoRatio) {
  const Row row = compare(duel({1, 0, 4}, {0.5, 1.5, 1}))[1];
  EXPECT_FALSE(row.rho || row.mark);
  EXPECT_EQ(row.rho_seeds, (PerSeed{0.5, std::nullopt, 0.75}));
}

TEST(Comparison, WhatIsNotThereYetIsLeftOut) {
  StudyRuns study = duel({1, 2, 4}, {0.5, 1.5});
  const Row row = compare(study)[1];
  EXPECT_EQ(row.rho, 0.375);
  EXPECT_EQ(row.measured, 2U);
  EXPECT_EQ(row.min_loss, (PerSeed{0.5, 1.5, std::nullopt}));
}

TEST(Comparison, EqualBudgetsCutTheDearerRun) {
  StudyRuns study = duel({}, {});
  study.seeds = {1};
  baseline_of(study).measured = {make_run({9, 4, 2}, {}, 1)};
  rival_of(study).measured = {make_run({9, 3, 2, 1}, {}, 1)};
  for (train::Point& point : rival_of(study).measured[0].points) point.seconds *= 0.5;
  const Row row = compare(study)[1];
  EXPECT_EQ(row.rho, 0.5);              // 2 against 1
  EXPECT_EQ(row.rho_evaluations, 0.0);  // 200 each: 2 against 2
  EXPECT_EQ(row.rho_seconds, 0.75);     // 1.5 each: 4 against 1
  // What ends no epoch within the budget is where it began.
  for (train::Point& point : rival_of(study).measured[0].points) point.seconds *= 100;
  EXPECT_EQ(compare(study)[1].rho_seconds, (2.0 - 9.0) / 2.0);
}

TEST(Comparison, EdgesAreNamedUnlessTheyAreBounds) {
  const auto edge = [](OptionMap options) {
    StudyRuns study = duel({1}, {1});
    rival_of(study).grid = {{"alpha", {"0", "0.1", "1"}},
                            {"decay", {"1", "0.6", "0.8"}},
                            {"lr", {"0.01", "1e-4", "1e-3"}},
                            {"normalize", {"true", "false"}},
                            {"rate", {"0.1", "0.1*0.95^epoch"}}};
    options.emplace("normalize", "true");
    options.emplace("rate", "0.1");
    rival_of(study).measured[0].options = std::move(options);
    return compare(study)[1].edge;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(edge({{"alpha", "0.1"}, {"decay", "0.8"}, {"lr", "1e-3"}}), Names());
  EXPECT_EQ(edge({{"alpha", "0"}, {"decay", "1"}, {"lr", "0.0001"}}), Names({"lr"}));
  EXPECT_EQ(edge({{"alpha", "1"}, {"decay", "0.6"}, {"lr", "0.010"}}),
            Names({"alpha", "decay", "lr"}));
}

TEST(Comparison, ASettingIsWorthNoLessThanItsStart) {
  StudyRuns study = duel({1}, {1});
  baseline_of(study).tuned = {make_run({2, 1}), make_run({2, 1.5})};
  rival_of(study).tuned = {make_run({2, 3}), make_run({2, 0.5}), diverged_run(), diverged_run()};
  const Row row = compare(study)[1];
  ASSERT_EQ(row.best_of.size(), 4U);  // of 2, 0.5, 2 and 2
  EXPECT_DOUBLE_EQ(row.best_of[0].expected, 1.625);
  EXPECT_DOUBLE_EQ(row.best_of[1].expected, 1.25);
  EXPECT_DOUBLE_EQ(row.best_of[2].expected, 0.875);
  EXPECT_DOUBLE_EQ(row.best_of[3].expected, 0.5);
  EXPECT_DOUBLE_EQ(row.best_of[0].median, 2);
  EXPECT_DOUBLE_EQ(row.best_of[1].median, 0.5);  // half of the draws have it
  EXPECT_EQ(row.budget, 2U);
  EXPECT_EQ(row.rho_budget, 0.5);  // 0.5 against 1
  EXPECT_EQ(row.rho_tuned, 0.5);
}

/// One number for a table; what has less than half of the baseline's settings does not decide it.
TEST(Comparison, TheBudgetIsThatOfTheSmallestGrid) {
  const auto grid = [](std::size_t size) {
    OptimizerRuns runs;
    runs.tuned.assign(size, make_run({2, 1}));
    return runs;
  };
  const OptimizerRuns baseline = grid(60), momentum = grid(36), diag = grid(900), full = grid(4);
  EXPECT_EQ(common_budget(std::vector{&momentum, &diag, &full}, baseline), 36U);
  EXPECT_EQ(common_budget(std::vector{&diag}, baseline), 60U);
  EXPECT_EQ(common_budget({}, baseline), 60U);
  StudyRuns study = duel({1, 2}, {1, 2});
  baseline_of(study) = grid(8);
  baseline_of(study).baseline = true;
  rival_of(study) = grid(100);
  study.tasks[0].optimizers.push_back(grid(5));
  study.tasks[0].optimizers.push_back(grid(3));
  const std::vector<Row> rows = compare(study);
  EXPECT_EQ(rows[1].budget, 5U);
  EXPECT_EQ(rows[2].budget, 5U);
  EXPECT_EQ(rows[3].budget, 3U);
}

TEST(Comparison, APrunedGridHasNoCurve) {
  StudyRuns study = duel({1, 2}, {0.5, 1});
  EXPECT_FALSE(compare(study)[1].pruned);
  rival_of(study).tuned.push_back(make_run({2, 0.1}));
  rival_of(study).tuned.back().pruned = true;
  const Row row = compare(study)[1];
  EXPECT_TRUE(row.pruned);
  EXPECT_TRUE(row.best_of.empty());
  EXPECT_FALSE(row.rho_budget);
  EXPECT_EQ(row.tuned_loss, 1.0);
}

TEST(Comparison, TwoBaselinesAreRefused) {
  StudyRuns study = duel({1}, {1});
  rival_of(study).baseline = true;
  try {
    compare(study);
    FAIL() << "expected an error";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "Study 'duel' has two baselines on data: 'a' and 'b'; expected one");
  }
}

TEST(Comparison, APartOfAGridIsAnOptimizerOfItsOwn) {
  StudyRuns study = duel({1, 2}, {0.5, 1});
  OptimizerRuns& rival = rival_of(study);
  rival.grid = {{"alpha", {"0", "0.1"}}, {"lr", {"0.1", "0.20", "0.3"}}};
  rival.tuned = {make_run({2, 1.0}, {{"alpha", "0"}, {"lr", "0.1"}}),
                 make_run({2, 0.9}, {{"alpha", "0"}, {"lr", "0.2"}}),
                 make_run({2, 0.8}, {{"alpha", "0.1"}, {"lr", "0.3"}})};
  for (auto& run : rival.measured) run.options = rival.tuned[2].options;
  const OptimizerSpec zero{.label = "b, alpha = 0",
                           .method = "b",
                           .part_of = "b",
                           .ablation = true,
                           .grid = {{"lr", {"0.1", "0.2", "0.3"}}, {"alpha", {"0"}}}};
  const OptimizerRuns without = restricted(rival, zero);
  EXPECT_EQ(without.label, "b, alpha = 0");
  EXPECT_EQ(without.tuned.size(), 2U);
  EXPECT_TRUE(without.measured.empty());
  EXPECT_TRUE(without.ablation);
  EXPECT_EQ(without.grid, (decltype(without.grid){{"lr", {"0.1", "0.2", "0.3"}}}));
  EXPECT_EQ(best_of_grid(without)->options.at("lr"), "0.2");
  Row row = compare(study, study.tasks[0], without, &baseline_of(study));
  EXPECT_FALSE(row.rho);
  EXPECT_DOUBLE_EQ(*row.rho_tuned, 0.1);

  const OptimizerSpec positive{
      .label = "b, alpha > 0", .method = "b", .grid = {{"alpha", {"0.1", "0.5"}}}};
  OptimizerRuns with = restricted(rival, positive);
  EXPECT_EQ(with.tuned.size(), 1U);
  EXPECT_EQ(with.measured.size(), 2U);
  with.grid.clear();
  EXPECT_TRUE(with.grid.empty());
  row = compare(study, study.tasks[0], with, &baseline_of(study));
  EXPECT_EQ(row.rho, 0.5);
  std::vector<Row> family(2, row);
  family[0].p = 0.25;
  family[1].p = 0.125;
  adjust(family);
  EXPECT_EQ(family[0].p_holm, 0.25);
  EXPECT_EQ(family[1].p_holm, 0.25);
  family[0].ablation = true;  // a family of its own
  adjust(family);
  EXPECT_EQ(family[0].p_holm, 0.25);
  EXPECT_EQ(family[1].p_holm, 0.125);
}

TEST(Comparison, JsonHasTheKeysOfTheDesignFirst) {
  const std::vector<Row> rows = compare(fixture_study());
  const Json json = to_json(rows.at(1));
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  EXPECT_EQ(
      keys,
      "study data model lambda optimizer options edge rho mark s p interval min_loss gap "
      "diverged members gradient_evaluations seconds state_bytes "
      "task method baseline ablation pruned seeds rho_seeds p_holm measured measured_diverged "
      "rho_evaluations rho_seconds tuned_loss rho_tuned rho_budget budget best_of ");
  EXPECT_EQ(json.at("study"), "made up");
  EXPECT_EQ(json.at("mark"), "+");
  EXPECT_EQ(json.at("options"), (Json{{"alpha", "0.1"}, {"decay", "1"}, {"lr", "0.1"}}));
  EXPECT_EQ(json.at("edge"), (Json{"alpha", "lr"}));
  EXPECT_EQ(json.at("rho"), *rows[1].rho);
  EXPECT_EQ(json.at("interval").size(), 2U);
  EXPECT_EQ(json.at("min_loss").size(), 5U);
  EXPECT_EQ(json.at("gradient_evaluations"), 400);
  EXPECT_EQ(json.at("best_of").at(0).at("n"), 1);
  EXPECT_EQ(json.at("best_of").back().at("n"), 8);

  Row empty;
  empty.lambda = kNan;
  empty.min_loss = {std::nullopt, 1.0};
  empty.interval = {{kNan, 1.0}};
  const Json none = to_json(empty);
  for (const char* key : {"lambda", "rho", "mark", "s", "p", "p_holm", "seconds", "state_bytes",
                          "gradient_evaluations", "rho_budget"}) {
    EXPECT_TRUE(none.at(key).is_null()) << key;
  }
  EXPECT_EQ(none.at("min_loss").dump(), "[null,1.0]");
  EXPECT_EQ(none.at("interval").dump(), "[null,1.0]");
  EXPECT_EQ(none.at("options").dump(), "{}");
  EXPECT_EQ(none.at("edge").dump(), "[]");
  EXPECT_EQ(none.at("best_of").dump(), "[]");
}

}  // namespace
}  // namespace tandem::study
