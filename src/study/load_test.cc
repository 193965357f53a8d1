// SPDX-License-Identifier: MIT
// A study out of the store: optimizers in order, grids, tuned and measured runs apart.
#include "study/load.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/test_small_study.h"
#include "tests/temp_folder.h"

namespace tandem::study {
namespace {

using store::Phase;
using store::Store;

class LoadStudy : public ::testing::Test {
 protected:
  static store::MemberRow member(const std::string& label, const std::string& lr, Phase phase,
                                 std::uint64_t seed) {
    return {.optimizer = label,
            .method = "diag-to",
            .baseline = label == "base",
            .options = {{"alpha", "0"}, {"lr", lr}},
            .seed = seed,
            .phase = phase,
            .diverged = lr == "9",
            .pruned = lr == "0.5",
            .state_bytes = 8,
            .points = {{.epoch = 0, .train_loss = 2}, {.epoch = 1, .train_loss = 1}}};
  }

  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
};

TEST_F(LoadStudy, FillsTheShapeOfResults) {
  Store store = Store::open(folder_ / "runs.db", Store::Mode::write);
  const store::Study study = store.ensure_study({.name = "s",
                                                 .text = "text",
                                                 .version = "1",
                                                 .machine = "m",
                                                 .command = "c",
                                                 .pruned = true,
                                                 .epochs = 1,
                                                 .tune_seed = 3,
                                                 .seeds = {1, 2}});
  EXPECT_FALSE(load_study(store, "s").complete);  // not even planned
  std::vector<store::Task> tasks;
  for (const char* key : {"z", "a"}) {
    tasks.push_back(store.ensure_task({.study_id = study.id,
                                       .key = key,
                                       .data = key,
                                       .model = "logistic",
                                       .lambda = 0.5,
                                       .batch = 64,
                                       .samples = 10,
                                       .dimension = 4,
                                       .optimum = 0.25}));
  }
  store.add_units(study.id, {{.task_id = tasks[0].id, .key = "1"},
                             {.task_id = tasks[0].id, .key = "2"},
                             {.task_id = tasks[0].id, .key = "3", .phase = Phase::measure},
                             {.task_id = tasks[1].id, .key = "4"}});
  const auto units = store.units(study.id);
  // The last first: the order is that of the plan.
  store::finish_unit(
      store, study.id, units[2],
      {member("to", "0.1", Phase::measure, 1), member("to", "0.1", Phase::measure, 2)});
  store::finish_unit(store, study.id, units[1], {member("base", "1", Phase::tune, 3)});
  store::finish_unit(store, study.id, units[0],
                     {member("to", "0.5", Phase::tune, 3), member("to", "0.1", Phase::tune, 3),
                      member("to", "9", Phase::tune, 3)});
  EXPECT_FALSE(load_study(store, "s").complete);
  store::finish_unit(store, study.id, units[3], {});

  const StudyRuns runs = load_study(store, "s");
  EXPECT_EQ(runs.name, "s");
  EXPECT_TRUE(runs.pruned);
  EXPECT_FALSE(runs.complete);  // "base" was tuned, and what measures it is yet to be planned
  EXPECT_EQ(runs.epochs, 1U);
  EXPECT_EQ(runs.tune_seed, 3U);
  EXPECT_EQ(runs.seeds, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(runs.text, "text");
  EXPECT_EQ(runs.command, "c");
  EXPECT_EQ(runs.version, "1");
  EXPECT_EQ(runs.machine, "m");
  ASSERT_EQ(runs.tasks.size(), 2U);
  const TaskRuns& task = runs.tasks[0];
  EXPECT_EQ(task.data, "z");
  EXPECT_EQ(task.model, "logistic");
  EXPECT_EQ(task.lambda, 0.5);
  EXPECT_EQ(task.batch, 64U);
  EXPECT_EQ(task.samples, 10U);
  EXPECT_EQ(task.dimension, 4U);
  EXPECT_EQ(task.optimum, 0.25);
  ASSERT_EQ(task.optimizers.size(), 2U);
  const OptimizerRuns& first = task.optimizers[0];
  EXPECT_EQ(first.label, "to");
  EXPECT_EQ(first.method, "diag-to");
  EXPECT_FALSE(first.baseline);
  ASSERT_EQ(first.grid.size(), 1U);
  EXPECT_EQ(first.grid.at("lr"), (std::vector<std::string>{"0.5", "0.1", "9"}));
  ASSERT_EQ(first.tuned.size(), 3U);
  EXPECT_TRUE(first.tuned[0].pruned);
  EXPECT_TRUE(first.tuned[2].diverged);
  EXPECT_EQ(first.tuned[1].seed, 3U);
  EXPECT_EQ(first.tuned[1].state_bytes, 8U);
  EXPECT_EQ(first.tuned[1].points.at(1).train_loss, 1);
  ASSERT_EQ(first.measured.size(), 2U);
  EXPECT_EQ(first.measured[1].seed, 2U);
  EXPECT_EQ(first.measured[1].options.at("lr"), "0.1");
  EXPECT_TRUE(task.optimizers[1].baseline);
  EXPECT_TRUE(task.optimizers[1].grid.empty());
  EXPECT_TRUE(runs.tasks[1].optimizers.empty());

  store.add_units(study.id, {{.task_id = tasks[0].id, .key = "5", .phase = Phase::measure}});
  EXPECT_FALSE(load_study(store, "s").complete);
  store::finish_unit(
      store, study.id, store.units(study.id).back(),
      {member("base", "1", Phase::measure, 1), member("base", "1", Phase::measure, 2)});
  EXPECT_TRUE(load_study(store, "s").complete);
}

TEST_F(LoadStudy, SuggestsAName) {
  Store store = Store::open(folder_ / "runs.db", Store::Mode::write);
  const auto message = [&](const std::string& name) {
    try {
      load_study(store, name);
      return std::string("no error");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(message("kdd").find("has none"), std::string::npos);
  store.ensure_study({.name = "mnist"});
  EXPECT_NE(message("mnits").find("did you mean 'mnist'?"), std::string::npos);
}

}  // namespace
}  // namespace tandem::study
