// SPDX-License-Identifier: MIT
// Runs of whole studies: what is trained, chosen and measured, pruned and refused.
#include "study/runner.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "models/make_problem.h"
#include "study/comparison.h"
#include "study/load.h"
#include "study/test_rows.h"
#include "study/train_options.h"
#include "tests/temp_folder.h"
#include "train/plan.h"

namespace tandem::study {
namespace {

using store::Phase;
using store::Store;

constexpr const char* kData = "synthetic:rows=200,features=6,noise=0.1,seed=3";

/// `top` are lines above the tasks, `optimizers` what stands below.
std::string study_text(const std::string& top, const std::string& optimizers) {
  return fmt::format(
      "name = \"s\"\nseeds = [1, 2]\n{}\n[[task]]\ndata = \"{}\"\nlambda = 0.01\nbatch = 16\n{}",
      top, kData, optimizers);
}

constexpr const char* kOptimizers = R"(
[[optimizer]]
name = "adam"
baseline = true
lr = [0.001, 0.1, 0.01]
[[optimizer]]
name = "svrg+diag-to"
label = "mine"
lr = [0.02, 0.2]
alpha = [0, 0.1]
)";

class RunnerTest : public ::testing::Test {
 protected:
  static Runner runner(const std::string& text, std::size_t memory = std::size_t{1} << 30) {
    return Runner(parse_study(text, "s.toml"), {.memory = memory});
  }

  /// Runs all of it; the rows of the first task.
  std::vector<store::MemberRow> run(const std::string& text,
                                    std::size_t memory = std::size_t{1} << 30) {
    Store store = Store::open(path_, Store::Mode::write);
    Runner own = runner(text, memory);
    EXPECT_TRUE(own.run(store, [](const Status&) { return true; }));
    const std::int64_t study = store.find_study("s").value().id;
    const store::Progress progress = store.progress(study);
    EXPECT_EQ(progress.done, progress.units);
    EXPECT_TRUE(load_study(store, "s").complete);
    return store.members(store.tasks(study).at(0).id, store::Curves::all);
  }

  static std::vector<store::MemberRow> of(const std::vector<store::MemberRow>& rows,
                                          const std::string& label, Phase phase) {
    std::vector<store::MemberRow> found;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
                 [&](const auto& row) { return row.optimizer == label && row.phase == phase; });
    return found;
  }

  static double least(const std::vector<train::Point>& points, std::size_t epochs = 1000) {
    double loss = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < std::min(points.size(), epochs + 1); ++i) {
      loss = std::min(loss, points[i].train_loss);
    }
    return loss;
  }

  tests::TempFolder folder_;
  std::filesystem::path path_ = folder_ / "runs.db";
};

/// The members of a population that was trained by hand.
std::vector<train::Member> trained(const std::vector<train::Setting>& settings, std::size_t epochs,
                                   std::uint64_t seed) {
  const auto problem = models::make_problem(
      "logistic", std::make_shared<data::Task>(data::load_task(kData, {})), 0.01);
  train::TrainOptions options;
  options.batch = 16;
  options.epochs = epochs;
  options.seed = seed;
  train::Trainer trainer(*problem, settings, options);
  while (trainer.epoch()) {
  }
  return trainer.members();
}

void expect_same(const store::MemberRow& row, const train::Member& member) {
  EXPECT_EQ(row.diverged, member.diverged);
  EXPECT_EQ(row.state_bytes, member.state_bytes);
  EXPECT_EQ(row.options, resolved_options(member.setting));
  ASSERT_EQ(row.points.size(), member.points.size());
  for (std::size_t i = 0; i < row.points.size(); ++i) {
    EXPECT_EQ(text_of(row.points[i]), text_of(member.points[i])) << i;
  }
}

TEST_F(RunnerTest, RowsAreThoseOfATrainerRunByHand) {
  const auto rows = run(study_text("epochs = 3\ntune_seed = 7", kOptimizers));
  const std::vector<std::pair<std::string, std::vector<train::Setting>>> grids{
      {"adam", expand("adam", {{"lr", {"0.001", "0.1", "0.01"}}})},
      {"mine", expand("svrg+diag-to", {{"lr", {"0.02", "0.2"}}, {"alpha", {"0", "0.1"}}})}};
  std::size_t all = 0;
  for (const auto& [label, grid] : grids) {
    SCOPED_TRACE(label);
    const auto tuned = of(rows, label, Phase::tune);
    const auto expected = trained(grid, 3, 7);
    ASSERT_EQ(tuned.size(), grid.size());
    std::size_t best = 0;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      EXPECT_EQ(tuned[i].seed, 7U);
      expect_same(tuned[i], expected[i]);
      if (least(expected[i].points) < least(expected[best].points)) best = i;
    }
    EXPECT_NE(best, 0U);  // or a runner that takes the first would pass
    // The best of them, on the other seeds.
    const auto measured = of(rows, label, Phase::measure);
    ASSERT_EQ(measured.size(), 2U);
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_EQ(measured[s].seed, s + 1);
      expect_same(measured[s], trained({grid[best]}, 3, s + 1).front());
    }
    all += tuned.size() + measured.size();
  }
  EXPECT_EQ(rows.size(), all);
  // The same choice as that of the comparison.
  const StudyRuns runs = load_study(Store::open(path_, Store::Mode::read), "s");
  for (const OptimizerRuns& optimizer : runs.tasks.at(0).optimizers) {
    const study::Run* best = best_of_grid(optimizer);
    ASSERT_NE(best, nullptr);
    for (const study::Run& run : optimizer.measured) EXPECT_EQ(run.options, best->options);
  }
  EXPECT_TRUE(runs.tasks.at(0).optimum.has_value());
}

TEST_F(RunnerTest, APartOfAGridIsMeasuredWithoutBeingTrainedAgain) {
  const std::string parts = std::string(kOptimizers) + R"(
[[optimizer]]
part_of = "mine"
label = "zero"
ablation = true
alpha = 0
[[optimizer]]
part_of = "mine"
label = "positive"
ablation = true
alpha = 0.1
)";
  const auto rows = run(study_text("epochs = 3\ntune_seed = 7", parts));
  const auto whole = of(rows, "mine", Phase::tune);
  ASSERT_EQ(whole.size(), 4U);
  EXPECT_TRUE(of(rows, "zero", Phase::tune).empty());
  EXPECT_TRUE(of(rows, "positive", Phase::tune).empty());
  // One of the parts holds the best of all, which is measured already.
  const std::string best_alpha = of(rows, "mine", Phase::measure).at(0).options.at("alpha");
  const std::string with_best = best_alpha == "0" ? "zero" : "positive";
  const std::string other = best_alpha == "0" ? "positive" : "zero";
  EXPECT_TRUE(of(rows, with_best, Phase::measure).empty());
  EXPECT_EQ(of(rows, other, Phase::measure).size(), 2U);

  const StudyRuns runs = load_study(Store::open(path_, Store::Mode::read), "s");
  const auto& optimizers = runs.tasks.at(0).optimizers;
  ASSERT_EQ(optimizers.size(), 4U);
  EXPECT_EQ(optimizers[0].label, "adam");
  EXPECT_EQ(optimizers[1].label, "mine");
  EXPECT_EQ(optimizers[2].label, "zero");
  EXPECT_EQ(optimizers[3].label, "positive");
  EXPECT_FALSE(optimizers[1].ablation);
  for (std::size_t i : {2, 3}) {
    EXPECT_TRUE(optimizers[i].ablation);
    ASSERT_EQ(optimizers[i].tuned.size(), 2U);
    ASSERT_EQ(optimizers[i].measured.size(), 2U);
    const std::string alpha = i == 2 ? "0" : "0.1";
    for (const study::Run& run : optimizers[i].tuned) EXPECT_EQ(run.options.at("alpha"), alpha);
    EXPECT_EQ(optimizers[i].measured[0].options, best_of_grid(optimizers[i])->options);
    EXPECT_EQ(optimizers[i].measured[0].seed, 1U);
  }
  const std::vector<Row> table = compare(runs);
  ASSERT_EQ(table.size(), 4U);
  EXPECT_EQ(table[with_best == "zero" ? 2 : 3].rho, table[1].rho);
}

/// With "all" every setting runs on every seed, as it would alone, and nothing is chosen.
TEST_F(RunnerTest, WholeGridsAreMeasuredWhereAskedFor) {
  const std::string text = study_text("epochs = 3\nmeasure = \"all\"", kOptimizers);
  const Runner own = runner(text);
  EXPECT_EQ(own.plan().members, 7U);
  EXPECT_EQ(own.plan().runs, 14U);
  EXPECT_EQ(own.plan().tuning.size(), 2U);
  EXPECT_EQ(own.plan().measuring.size(), 4U);
  EXPECT_EQ(own.plan().waves, 6U);  // each unit fits into memory
  std::string two_tasks = text;
  two_tasks.replace(two_tasks.find("lambda = 0.01"), 13, "lambda = [0.01, 0.1]");
  EXPECT_EQ(runner(two_tasks).plan().waves, 12U);
  const auto rows = run(text);
  EXPECT_EQ(Store::open(path_, Store::Mode::read).progress(1).units, own.plan().units);
  for (const auto& [label, count] : {std::pair("adam", 3U), std::pair("mine", 4U)}) {
    EXPECT_EQ(of(rows, label, Phase::tune).size(), count);
    EXPECT_EQ(of(rows, label, Phase::measure).size(), 2 * count);
  }
  for (const store::MemberRow& row : of(rows, "adam", Phase::measure)) {
    expect_same(row, trained({{"adam", {{"lr", row.options.at("lr")}}}}, 3, row.seed).front());
  }
  const StudyRuns runs = load_study(Store::open(path_, Store::Mode::read), "s");
  const OptimizerRuns& adam = runs.tasks.at(0).optimizers.at(0);
  ASSERT_EQ(adam.measured.size(), 2U);  // of the best
  EXPECT_EQ(adam.others.size(), 4U);
  for (const study::Run& each : adam.measured) {
    EXPECT_EQ(each.options, best_of_grid(adam)->options);
  }
}

/// A setting may be the best with lambda's part and another without it: both are measured, and a
/// report of either has its own.
TEST_F(RunnerTest, TheBestByEitherLossIsMeasured) {
  std::string text = study_text("epochs = 6\noptimum = false", R"(
[[optimizer]]
name = "sgd"
baseline = true
lr = [0.02, 0.1, 0.5]
[[optimizer]]
name = "momentum"
lr = [0.02, 0.1, 0.5]
)");
  text.replace(text.find("lambda = 0.01"), 13, "lambda = 0.7");
  run(text);
  const Store store = Store::open(path_, Store::Mode::read);
  const StudyRuns total = load_study(store, "s");
  const StudyRuns data = load_study(store, "s", ReportLoss::data);
  EXPECT_EQ(data.report_loss, ReportLoss::data);
  bool differ = false;
  for (std::size_t o = 0; o < 2; ++o) {
    const OptimizerRuns& with = total.tasks.at(0).optimizers.at(o);
    const OptimizerRuns& without = data.tasks.at(0).optimizers.at(o);
    for (const OptimizerRuns* runs : {&with, &without}) {
      ASSERT_EQ(runs->measured.size(), 2U);
      for (const study::Run& each : runs->measured) {
        EXPECT_EQ(each.options, best_of_grid(*runs)->options);
      }
    }
    differ = differ || best_of_grid(with)->options != best_of_grid(without)->options;
    for (std::size_t i = 0; i < with.tuned.size(); ++i) {
      const train::Point& a = with.tuned[i].points.back();
      const train::Point& b = without.tuned[i].points.back();
      EXPECT_EQ(a.data_loss, b.train_loss);
      EXPECT_EQ(a.train_loss, a.data_loss + 0.7 / 2 * a.squared_norm);
    }
  }
  EXPECT_TRUE(differ) << "the test is to have a case where the losses choose differently";
  EXPECT_TRUE(data.complete);
}

TEST_F(RunnerTest, RunsOfOlderVersionsHaveNoLossWithoutLambda) {
  run(study_text("epochs = 1", kOptimizers));
  SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE);
  database.exec("UPDATE point SET data_loss = NULL");
  const Store store = Store::open(path_, Store::Mode::read);
  EXPECT_NO_THROW(load_study(store, "s"));
  try {
    load_study(store, "s", ReportLoss::data);
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("an older version trained it"), std::string::npos)
        << error.what();
  }
}

TEST_F(RunnerTest, ADoubleSoftmaxHasNoOptimum) {
  std::string text = study_text("epochs = 2", kOptimizers);
  text.replace(text.find("batch = 16"), 10, "batch = 16\nloss = \"double-softmax\"");
  run(text);
  const StudyRuns runs = load_study(Store::open(path_, Store::Mode::read), "s");
  const TaskRuns& task = runs.tasks.at(0);
  EXPECT_FALSE(task.optimum.has_value());
  EXPECT_NE(task.name.find("loss=double-softmax"), std::string::npos) << task.name;
  EXPECT_GT(best_of_grid(task.optimizers[0])->points.back().data_loss, 0.3132);  // the floor
}

TEST_F(RunnerTest, OptionsAreResolved) {
  const OptionMap options = resolved_options({"svrg+diag-to", {{"lr", "0.5"}}});
  EXPECT_EQ(options.at("lr"), "0.5");
  EXPECT_TRUE(options.contains("alpha"));
  EXPECT_TRUE(options.contains("beta"));
}

TEST_F(RunnerTest, ALargeGridIsCutIntoUnitsAndIsTheSame) {
  std::string values;
  for (int i = 1; i <= 600; ++i) values += fmt::format("{}, ", i * 0.0005);
  const std::string text = study_text("epochs = 1\noptimum = false",
                                      "[[optimizer]]\nname = \"sgd\"\nlr = [" + values + "]\n");
  const auto rows = run(text);
  const Runner own = runner(text);
  EXPECT_EQ(own.plan().tuning.size(), 2U);
  EXPECT_EQ(own.plan().units, 3U);
  EXPECT_EQ(own.plan().members, 600U);
  const auto tuned = of(rows, "sgd", Phase::tune);
  ASSERT_EQ(tuned.size(), 600U);
  for (std::size_t i = 0; i < 600; ++i) {
    EXPECT_EQ(tuned[i].options.at("lr"), fmt::format("{}", static_cast<double>(i + 1) * 0.0005));
  }
  Store store = Store::open(path_, Store::Mode::read);
  EXPECT_EQ(store.progress(store.find_study("s")->id).units, own.plan().units);
}

TEST_F(RunnerTest, AGridOfWhichAllDivergeMeasuresNothingAndIsComplete) {
  const std::string text = study_text("epochs = 2", R"(
[[optimizer]]
name = "sgd"
lr = [1e8, 1e9]
[[optimizer]]
name = "adam"
lr = 0.01
)");
  const auto rows = run(text);
  for (const auto& row : of(rows, "sgd", Phase::tune)) EXPECT_TRUE(row.diverged);
  EXPECT_EQ(of(rows, "sgd", Phase::tune).size(), 2U);
  EXPECT_TRUE(of(rows, "sgd", Phase::measure).empty());
  EXPECT_EQ(of(rows, "adam", Phase::measure).size(), 2U);
  EXPECT_EQ(run(text).size(), rows.size());  // again: nothing is left
}

TEST_F(RunnerTest, ASecondRunTrainsNothing) {
  const std::string text = study_text("epochs = 2", kOptimizers);
  run(text);
  const auto before = all_rows(path_, "s");
  Store store = Store::open(path_, Store::Mode::write);
  Runner own = runner(text);
  EXPECT_TRUE(own.run(store, [](const Status&) {
    ADD_FAILURE() << "something was left to do";
    return true;
  }));
  EXPECT_EQ(own.timing().member_epochs, 0);
  EXPECT_EQ(all_rows(path_, "s"), before);
}

TEST_F(RunnerTest, StatusAndTimingAddUp) {
  Store store = Store::open(path_, Store::Mode::write);
  Runner own = runner(study_text("epochs = 3", kOptimizers));
  std::size_t calls = 0;
  double part = 0;
  EXPECT_TRUE(own.run(store, [&](const Status& status) {
    ++calls;
    EXPECT_GE(status.part, part);
    EXPECT_LE(status.part, 1 + 1e-9);
    part = status.part;
    EXPECT_LE(status.units_done, status.units);
    EXPECT_FALSE(status.doing.empty());
    return true;
  }));
  EXPECT_GT(calls, 0U);
  const Timing& timing = own.timing();
  const auto rows =
      store.members(store.tasks(store.find_study("s")->id).at(0).id, store::Curves::none);
  EXPECT_GE(rows.size(), 3U + 4 + 2 + 2);  // more where the loss without lambda's part chose others
  EXPECT_EQ(timing.member_epochs, 3 * static_cast<double>(rows.size()));
  EXPECT_GT(timing.training, 0);
  EXPECT_LE(timing.training + timing.store + timing.optimum + timing.waiting, timing.all);
}

// ---- Pruning ------------------------------------------------------------------------------------

class Pruned : public RunnerTest {
 protected:
  /// How many members were trained for so many epochs, and whether the right ones stayed.
  void expect_epochs(const std::string& top, const std::string& values,
                     const std::map<std::size_t, std::size_t>& expected) {
    const auto rows =
        of(run(study_text(top, "[[optimizer]]\nname = \"sgd\"\nlr = [" + values + "]\n")), "sgd",
           Phase::tune);
    std::map<std::size_t, std::size_t> found;
    for (const auto& row : rows) {
      if (row.diverged) continue;
      ++found[row.points.size() - 1];
      EXPECT_EQ(row.pruned, row.points.size() - 1 < expected.rbegin()->first);
    }
    EXPECT_EQ(found, expected);
    for (const auto& out : rows) {
      if (!out.pruned) continue;
      const std::size_t epochs = out.points.size() - 1;
      for (const auto& in : rows) {
        if (in.diverged || in.points.size() <= out.points.size()) continue;
        EXPECT_LE(least(in.points, epochs), least(out.points)) << in.options.at("lr");
      }
    }
  }
};

TEST_F(Pruned, HalvesStayInEachRung) {
  expect_epochs("epochs = 8\nprune = 2", "0.001, 0.5, 0.002, 0.1, 0.01, 0.2, 0.005, 0.05",
                {{1, 4}, {2, 2}, {4, 1}, {8, 1}});
  const StudyRuns runs = load_study(Store::open(path_, Store::Mode::read), "s");
  EXPECT_TRUE(runs.pruned);
  const OptimizerRuns& sgd = runs.tasks.at(0).optimizers.at(0);
  const study::Run* best = best_of_grid(sgd);
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->points.back().epoch, 8U);
  ASSERT_EQ(sgd.measured.size(), 2U);
  for (const study::Run& run : sgd.measured) {
    EXPECT_EQ(run.options, best->options);
    EXPECT_FALSE(run.pruned);
    EXPECT_EQ(run.points.size(), 9U);
  }
}

TEST_F(Pruned, ThirdsRoundUp) {
  expect_epochs("epochs = 5\nprune = 3", "0.001, 0.5, 0.002, 0.1, 0.01, 0.2, 0.005",
                {{1, 4}, {2, 2}, {5, 1}});
}

TEST_F(Pruned, DivergedOnesMakeRoom) {
  // Of six, three stay after the first of three epochs; two of the six diverged before.
  expect_epochs("epochs = 3\nprune = 2", "1e8, 0.5, 0.002, 1e9, 0.01, 0.2",
                {{1, 1}, {2, 1}, {3, 2}});
}

TEST_F(Pruned, NeedsTheGridInOneWave) {
  const std::string text =
      study_text("epochs = 2\nprune = 2", "[[optimizer]]\nname = \"sgd\"\nlr = [0.1, 0.2, 0.3]\n");
  try {
    runner(text, 100);
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    for (const char* part : {"3 settings of sgd", "waves", "--memory"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

// ---- Memory, diagnosis, estimates ---------------------------------------------------------------

TEST_F(RunnerTest, WavesDoNotChangeRows) {
  const std::string text = study_text("epochs = 2", kOptimizers);
  run(text);
  const auto expected = all_rows(path_, "s");
  const auto problem = models::make_problem(
      "logistic", std::make_shared<data::Task>(data::load_task(kData, {})), 0.01);
  const std::size_t one = train::member_bytes(*problem, {"svrg+diag-to", {}});
  const Runner narrow = runner(text, one);
  EXPECT_GT(narrow.plan().waves, narrow.plan().tuning.size());
  EXPECT_LE(narrow.plan().peak_bytes, one);
  path_ = folder_ / "waves.db";
  run(text, one);
  EXPECT_EQ(all_rows(path_, "s"), expected);
}

TEST_F(RunnerTest, ABudgetBelowOneMemberIsRefused) {
  try {
    runner(study_text("", kOptimizers), 16);
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("adam"), std::string::npos) << message;
    EXPECT_NE(message.find("memory budget is 16"), std::string::npos) << message;
  }
}

TEST_F(RunnerTest, ABatchLargerThanTheDataIsRefused) {
  const std::string text = "[[task]]\ndata = \"synthetic:rows=50\"\nbatch = 51\n";
  try {
    runner(text + "[[optimizer]]\nname = \"sgd\"\n");
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("Invalid batch: 51, expected at most 50"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(RunnerTest, DiagnosisIsOfMeasuredRunsOnly) {
  const auto rows = run(study_text("epochs = 2\ndiagnose = true", kOptimizers));
  for (const auto& row : rows) {
    for (const train::Point& point : row.points) {
      const bool measured = row.phase == Phase::measure && point.epoch > 0;
      EXPECT_EQ(std::isfinite(point.estimator_error), measured) << text_of(row);
      EXPECT_EQ(std::isfinite(point.batch_error), measured);
    }
  }
}

TEST_F(RunnerTest, ThePlanAndItsTime) {
  Runner own = runner(study_text("epochs = 3", kOptimizers));
  EXPECT_EQ(own.plan().members, 7U);
  EXPECT_EQ(own.plan().runs, 4U);
  EXPECT_EQ(own.plan().units, 5U);  // F* is one
  EXPECT_EQ(own.plan().tasks.at(0).samples, 200U);
  EXPECT_EQ(own.plan().tasks.at(0).data_hash.size(), 16U);
  EXPECT_FALSE(std::filesystem::exists(path_));
  const double seconds = own.estimate_seconds();
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 600);
}

TEST_F(RunnerTest, TheTimeOfWhatDivergesAtTheStartIsFinite) {
  Runner own = runner(fmt::format(
      "[[task]]\ndata = \"{}\"\nlambda = 1e308\n[[optimizer]]\nname = \"sgd\"\n", kData));
  const double seconds = own.estimate_seconds();
  EXPECT_GE(seconds, 0);
  EXPECT_LT(seconds, 600);
}

TEST_F(RunnerTest, OneStepAnEpochHasATimeToo) {
  Runner own = runner(fmt::format(
      "[[task]]\ndata = \"{}\"\nbatch = 200\n[[optimizer]]\nname = \"full-to\"\n", kData));
  const double seconds = own.estimate_seconds();
  EXPECT_GT(seconds, 0);
  EXPECT_TRUE(std::isfinite(seconds));
}

// ---- What must not change under a store ---------------------------------------------------------

class Changed : public RunnerTest {
 protected:
  void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
    Store store = Store::open(path_, Store::Mode::write);
    Runner own = runner(text);
    try {
      own.run(store, [](const Status&) { return true; });
      ADD_FAILURE() << "no error";
    } catch (const store::StoreError& error) {
      const std::string message = error.what();
      for (const std::string& part : parts) {
        EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
      }
    }
  }
};

TEST_F(Changed, StudyIsRefusedWithBothValues) {
  run(study_text("epochs = 2", kOptimizers));
  const auto before = all_rows(path_, "s");
  expect_refused(study_text("epochs = 3", kOptimizers), {"epochs: the store has 2, found 3"});
  // Far into a long text too.
  std::string other = kOptimizers;
  other.replace(other.find("[0, 0.1]"), 8, "[0, 0.3]");
  expect_refused(study_text("epochs = 2", other), {R"("0.1")", R"("0.3")", "alpha"});
  expect_refused(study_text("epochs = 2", std::string(kOptimizers) + "decay = 0.9\n"),
                 {"decay", "0.9"});
  EXPECT_EQ(all_rows(path_, "s"), before);
}

TEST_F(Changed, DataAreRefusedWithBothHashes) {
  const auto file = folder_ / "data.libsvm";
  const auto write = [&](const char* last) {
    std::ofstream stream(file);
    for (int i = 0; i < 40; ++i) stream << i % 2 << " 1:" << i << " 2:" << i % 7 << "\n";
    stream << last << "\n";
  };
  const std::string text = fmt::format(
      "name = \"s\"\nepochs = 1\nseeds = [1]\n[[task]]\ndata = \"libsvm:{}\"\nbatch = 8\n"
      "[[optimizer]]\nname = \"adam\"\n",
      file.string());
  write("1 1:5");
  run(text);
  const std::string hash = runner(text).plan().tasks.at(0).data_hash;
  write("1 1:6");
  const std::string other = runner(text).plan().tasks.at(0).data_hash;
  ASSERT_NE(hash, other);
  expect_refused(text, {hash, other});
}

}  // namespace
}  // namespace tandem::study
