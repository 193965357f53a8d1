// SPDX-License-Identifier: MIT
// A study in parts: what may be said of a part, that every unit has one, and that stores of all
// parts make the study whole.
#include "study/study_part.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "study/load.h"
#include "study/runner.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::study {
namespace {

using store::Store;

constexpr const char* kStudy = R"(
name = "s"
epochs = 2
seeds = [1, 2]
[[task]]
data = "synthetic:rows=192,features=5,classes=3,noise=0.1,seed=3"
lambda = [0.1, 0.01, 0.001]
batch = 64
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]
[[optimizer]]
name = "diag-to"
lr = [0.02, 0.2]
alpha = [0, 0.1]
[[optimizer]]
part_of = "diag-to"
label = "diag-to, alpha = 0"
ablation = true
alpha = 0
[[optimizer]]
name = "sgd"
lr = [1e8]
)";

Runner runner_of(const std::string& text, std::optional<StudyPart> part = {}) {
  return Runner(parse_study(text, "s.toml"),
                {.memory = std::size_t{1} << 30, .executor = serial_executor(), .part = part});
}

bool always(const Status& /*status*/) { return true; }

class Parts : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) { return folder_ / (name + ".db"); }

  std::vector<std::string> alone(const std::string& text = kStudy) {
    Store store = Store::open(path("alone"), Store::Mode::write);
    EXPECT_TRUE(runner_of(text).run(store, always));
    return all_rows(path("alone"), "s");
  }
  /// Each part in a store of its own, merged into one.
  void run_parts(std::size_t count, const std::set<std::size_t>& left_out = {},
                 const std::string& text = kStudy) {
    Store merged = Store::open(path("merged"), Store::Mode::write);
    for (std::size_t part = count; part >= 1; --part) {
      if (left_out.contains(part)) continue;
      const auto own = path(fmt::format("{}-{}", part, count));
      {
        Store store = Store::open(own, Store::Mode::write);
        EXPECT_TRUE(runner_of(text, StudyPart{part, count}).run(store, always));
        EXPECT_EQ(load_study(store, "s").complete, count == 1);
      }
      merged.merge(own);
    }
  }

  tests::TempFolder folder_;
};

TEST_F(Parts, AreReadAsTheyAreWritten) {
  const StudyPart part = parse_part("3/12");
  EXPECT_EQ(part.number, 3U);
  EXPECT_EQ(part.of, 12U);
  EXPECT_EQ(parse_part("10000/10000").number, 10000U);
  for (const char* text :
       {"", "1", "/", "1/", "/2", "0/2", "3/2", "-1/2", "01/2", "1/02", "1 /2", "1/2/3", "1/2x",
        "+1/2", "1/10001", "1/99999999999999999999999", "0x1/2", "1.0/2", "one/two"}) {
    try {
      parse_part(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(
          std::string(error.what()).rfind(fmt::format("Invalid part '{}', expected", text), 0), 0U)
          << error.what();
    }
  }
}

TEST_F(Parts, HaveEveryUnitOnceAndWhatBelongsTogether) {
  for (const char* measure : {"measure = \"best\"", "measure = \"all\""}) {
    const std::string text = fmt::format("{}\n{}", measure, kStudy);
    Store store = Store::open(path(measure), Store::Mode::write);
    Runner runner = runner_of(text);
    ASSERT_TRUE(runner.run(store, always));
    const std::int64_t study = store.find_study("s").value().id;
    std::map<std::int64_t, std::size_t> tasks;
    for (const store::Task& task : store.tasks(study)) tasks.emplace(task.id, tasks.size());
    for (const std::size_t parts : {1, 2, 3, 7, 50}) {
      const StudyCut cut(runner.study(), runner.plan(), parts);
      std::map<std::pair<std::int64_t, std::string>, std::set<std::size_t>> of_grid;
      std::set<std::size_t> used;
      for (const store::Unit& unit : store.units(study)) {
        const std::size_t part = cut.part_of(tasks.at(unit.task_id), unit);
        EXPECT_GE(part, 1U);
        EXPECT_LE(part, parts);
        used.insert(part);
        const bool piece = unit.optimizer.rfind("diag-to", 0) == 0;
        if (unit.phase != store::Phase::optimum) {
          of_grid[{unit.task_id, piece ? "diag-to" : unit.optimizer}].insert(part);
        }
      }
      EXPECT_EQ(used.size() == parts, parts < 50) << parts;
      for (const auto& [grid, found] : of_grid) {
        if (runner.study().measure_all) {
          EXPECT_LE(found.size(), 3U);
        } else {
          EXPECT_EQ(found.size(), 1U);
        }
      }
    }
  }
}

TEST_F(Parts, OfTheSameSizeAreOfTheSameWork) {
  const StudySpec study = parse_study(kStudy, "s.toml");
  TaskLoader loader({}, {}, 0);
  const StudyPlan plan = plan_study(study, loader, std::size_t{1} << 30);
  const StudyCut cut(study, plan, 3);
  std::vector<double> work(3, 0);
  for (const store::Unit& unit : population_units(study, plan, {0, 1, 2})) {
    work[cut.part_of(static_cast<std::size_t>(unit.task_id), unit) - 1] += unit.work;
  }
  EXPECT_EQ(work[0], work[1]);
  EXPECT_EQ(work[1], work[2]);
}

TEST_F(Parts, MergedAreTheRowsOfOneProcess) {
  const auto expected = alone();
  for (const std::size_t count : {1, 2, 4, 20}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "")) {
      if (entry.path().filename() != "alone.db") std::filesystem::remove(entry.path());
    }
    run_parts(count);
    EXPECT_EQ(all_rows(path("merged"), "s"), expected) << count << " parts";
    EXPECT_TRUE(load_study(Store::open(path("merged"), Store::Mode::read), "s").complete);
  }
}

TEST_F(Parts, MergedAreTheRowsOfOneProcessWhereWholeGridsAreMeasured) {
  const std::string text = fmt::format("measure = \"all\"\n{}", kStudy);
  const auto expected = alone(text);
  run_parts(5, {}, text);
  EXPECT_EQ(all_rows(path("merged"), "s"), expected);
}

TEST_F(Parts, WhatIsMissingAPlainRunCompletes) {
  const auto expected = alone();
  run_parts(4, {2, 3});
  {
    const Store merged = Store::open(path("merged"), Store::Mode::read);
    EXPECT_FALSE(load_study(merged, "s").complete);
    const store::Progress progress = merged.progress(merged.find_study("s").value().id);
    EXPECT_GT(progress.done, 0U);
    EXPECT_LT(progress.done, progress.units);
  }
  Store merged = Store::open(path("merged"), Store::Mode::write);
  EXPECT_TRUE(runner_of(kStudy).run(merged, always));
  EXPECT_EQ(all_rows(path("merged"), "s"), expected);
  EXPECT_TRUE(load_study(merged, "s").complete);
}

TEST_F(Parts, InterruptedGoOnWhereTheyWere) {
  const auto expected = alone();
  for (std::size_t part = 1; part <= 2; ++part) {
    const auto own = path(std::to_string(part));
    std::size_t most = 0;
    std::size_t runs = 0;
    while (true) {
      Store store = Store::open(own, Store::Mode::write);
      std::size_t began = ~std::size_t{0};
      const bool done = runner_of(kStudy, StudyPart{part, 2}).run(store, [&](const Status& status) {
        std::this_thread::sleep_for(std::chrono::milliseconds(21));  // to be asked in every step
        if (began == ~std::size_t{0}) began = status.units_done;
        return status.units_done == began;  // one unit at a time
      });
      const std::size_t units = store.progress(store.find_study("s").value().id).done;
      EXPECT_GE(units, most);
      most = units;
      if (done) break;
      ASSERT_LT(++runs, 100U);
    }
    EXPECT_GT(runs, 3U);
    Store::open(path("merged"), Store::Mode::write).merge(own);
  }
  EXPECT_EQ(all_rows(path("merged"), "s"), expected);
}

TEST_F(Parts, InOneStoreShareTheStudy) {
  const auto expected = alone();
  for (const std::size_t part : {3, 1, 2}) {
    Store store = Store::open(path("shared"), Store::Mode::write);
    EXPECT_TRUE(runner_of(kStudy, StudyPart{part, 3}).run(store, always));
  }
  EXPECT_EQ(all_rows(path("shared"), "s"), expected);
  EXPECT_TRUE(load_study(Store::open(path("shared"), Store::Mode::read), "s").complete);
}

}  // namespace
}  // namespace tandem::study
