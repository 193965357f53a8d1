// SPDX-License-Identifier: MIT
// Units that go on from a checkpoint: the same bits, wherever they were cut off; what cannot be used
// costs a new beginning and nothing else.
#include "study/unit_checkpoint.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "models/make_problem.h"
#include "study/load.h"
#include "study/runner.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::study {
namespace {

using store::Store;

constexpr const char* kStudy = R"(
name = "s"
epochs = 4
seeds = [3, 1, 2]
diagnose = true
optimum = false
[[task]]
data = "synthetic:rows=64,features=5,classes=3,noise=0.1,seed=3"
lambda = 0.01
batch = 8
[[optimizer]]
name = "saga+adam"
baseline = true
lr = [0.01, 0.1, 1e30]
[[optimizer]]
name = "storm+diag-to"
lr = [0.02, 0.2, 2]
[[optimizer]]
name = "full-to"
lr = [0.01, 0.1]
alpha = 0.1
)";

constexpr std::size_t kAll = ~std::size_t{0};

class Checkpoints : public ::testing::Test {
 protected:
  static Runner runner(const std::string& text, std::size_t memory = std::size_t{1} << 30) {
    return Runner(parse_study(text, "s.toml"),
                  {.memory = memory, .executor = serial_executor(), .checkpoint_seconds = 0});
  }
  std::vector<std::string> alone(const std::string& text = kStudy) {
    const auto path = folder_ / "alone.db";
    Store store = Store::open(path, Store::Mode::write);
    Runner own = runner(text);
    EXPECT_TRUE(own.run(store, [](const Status&) { return true; }));
    epochs_ = own.timing().member_epochs;
    return all_rows(path, "s");
  }
  /// Stops after so many steps; whether all was done. Counts what was trained.
  bool run_some(std::size_t steps, const std::string& text = kStudy,
                std::size_t memory = std::size_t{1} << 30) {
    Store store = Store::open(path_, Store::Mode::write);
    Runner own = runner(text, memory);
    std::size_t calls = 0;
    const bool done = own.run(store, [&](const Status&) {
      // Slowly enough to hear of each step.
      if (steps != kAll) std::this_thread::sleep_for(std::chrono::milliseconds(21));
      return ++calls < steps;
    });
    trained_ += own.timing().member_epochs;
    return done;
  }
  std::size_t checkpoints() {
    return static_cast<std::size_t>(SQLite::Database(path_.string(), SQLite::OPEN_READONLY)
                                        .execAndGet("SELECT count(*) FROM checkpoint")
                                        .getInt());
  }
  void change(const std::string& sql) {
    SQLite::Database(path_.string(), SQLite::OPEN_READWRITE).exec(sql);
  }

  tests::TempFolder folder_;
  std::filesystem::path path_ = folder_ / "runs.db";
  double epochs_ = 0;   // of a run that was left alone
  double trained_ = 0;  // in all runs, with those that were cut off
};

TEST_F(Checkpoints, AUnitGoesOnFromWhereItWasGivenBack) {
  const auto expected = alone();
  // An epoch has 8 steps, and a unit up to twelve epochs one after another.
  std::size_t runs = 1;
  std::size_t with_checkpoint = 0;
  while (!run_some(20)) {
    with_checkpoint += checkpoints();
    ASSERT_LT(++runs, 200U);
  }
  EXPECT_GT(runs, 10U);
  EXPECT_GT(with_checkpoint, runs / 2);
  EXPECT_EQ(all_rows(path_, "s"), expected);
  EXPECT_EQ(checkpoints(), 0U);
  // An epoch that was cut off is begun again, and no more.
  EXPECT_LE(trained_, epochs_ + 3 * static_cast<double>(runs));
}

TEST_F(Checkpoints, AndSoDoesAPrunedOne) {
  const std::string text = std::string("prune = 2\n") + kStudy;
  const auto expected = alone(text);
  std::size_t runs = 1;
  while (!run_some(20, text)) ASSERT_LT(++runs, 200U);
  EXPECT_GT(runs, 5U);
  EXPECT_EQ(all_rows(path_, "s"), expected);
}

TEST_F(Checkpoints, OfAMachineWithOtherMemoryBeginsAnew) {
  const auto expected = alone();
  EXPECT_FALSE(run_some(20));
  EXPECT_EQ(checkpoints(), 1U);
  // So little that a wave has fewer members.
  std::size_t least = 1024;
  while (true) {
    try {
      run_some(1, kStudy, least);
      break;
    } catch (const std::invalid_argument&) {
      least += 1024;  // not even one member
    }
  }
  run_some(kAll, kStudy, least);
  EXPECT_EQ(all_rows(path_, "s"), expected);
}

TEST_F(Checkpoints, DamageCostsANewBeginning) {
  const auto expected = alone();
  for (const char* damage :
       {"UPDATE checkpoint SET bytes = ''", "UPDATE checkpoint SET bytes = '!'",
        "UPDATE checkpoint SET bytes = 'AAAA'",
        "UPDATE checkpoint SET bytes = substr(bytes, 1, length(bytes) / 2 / 4 * 4)",
        "UPDATE checkpoint SET bytes = replace(bytes, 'A', 'B')"}) {
    std::filesystem::remove(path_);
    EXPECT_FALSE(run_some(20));
    EXPECT_EQ(checkpoints(), 1U);
    change(damage);
    EXPECT_TRUE(run_some(kAll));
    EXPECT_EQ(all_rows(path_, "s"), expected) << damage;
  }
}

TEST_F(Checkpoints, HaveABound) {
  const auto data = std::make_shared<const data::Task>(
      data::load_task("synthetic:rows=64,features=2000,seed=1", {}));
  const auto problem = models::make_problem("logistic", data, 0);
  const std::vector<train::Setting> settings(2000, {"adam", {{"lr", "0.1"}}});
  train::TrainOptions options;
  options.epochs = 2;
  train::Trainer trainer(*problem, settings, options);
  EXPECT_GT(trainer.bytes(), UnitCheckpoint::kMostBytes);
  UnitCheckpoint checkpoint({settings});
  checkpoint.keep(trainer);
  EXPECT_LT(checkpoint.bytes().size(), 1000U);
}

}  // namespace
}  // namespace tandem::study
