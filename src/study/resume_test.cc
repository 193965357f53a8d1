// SPDX-License-Identifier: MIT
// Studies that are interrupted, or shared by two, end with the rows of one that was left alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
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

// Ten units of nine steps or less.
constexpr const char* kStudy = R"(
name = "s"
epochs = 3
seeds = [3, 1, 2]
[[task]]
data = "synthetic:rows=192,features=5,classes=3,noise=0.1,seed=3"
lambda = [0.1, 0.001]
batch = 64
validation = 0.25
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]
[[optimizer]]
name = "storm+diag-to"
lr = [0.02, 0.2, 2]
[[optimizer]]
name = "sgd"
lr = [1e8]
)";

// The runner asks no more often than this; a progress function that takes longer hears of each
// step.
void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(21)); }

Runner make_runner(const std::string& text = kStudy) {
  return Runner(parse_study(text, "s.toml"), {.memory = std::size_t{1} << 30});
}

bool run_some(const std::filesystem::path& path, const std::function<bool(const Status&)>& progress,
              const std::string& text = kStudy) {
  Store store = Store::open(path, Store::Mode::write);
  return make_runner(text).run(store, progress);
}

class Resume : public ::testing::Test {
 protected:
  std::vector<std::string> alone(const std::string& text = kStudy) {
    EXPECT_TRUE(run_some(
        folder_ / "alone.db", [](const Status&) { return true; }, text));
    return all_rows(folder_ / "alone.db", "s");
  }

  tests::TempFolder folder_;
  std::filesystem::path path_ = folder_ / "runs.db";
};

TEST_F(Resume, AfterAnInterruptionBeforeEachUnit) {
  const auto expected = alone();
  std::size_t runs = 0;
  std::set<std::size_t> done;
  bool complete = false;
  while (!complete && ++runs < 50) {
    std::size_t began = 1000;
    complete = run_some(path_, [&](const Status& status) {
      nap();
      if (began == 1000) began = status.units_done;
      done.insert(status.units_done);
      return status.units_done == began;  // stop in the first step of the next one
    });
    const Store store = Store::open(path_, Store::Mode::read);
    EXPECT_EQ(store.progress(store.find_study("s")->id).leased, 0U);
    if (runs < 12) {
      EXPECT_FALSE(load_study(store, "s").complete);
    }
  }
  EXPECT_EQ(runs, 12U);  // ten units, and two optima
  EXPECT_EQ(done.size(), 12U);
  EXPECT_EQ(all_rows(path_, "s"), expected);
}

TEST_F(Resume, AfterAnInterruptionAtEachStep) {
  const auto expected = alone();
  std::size_t steps = 0;
  bool complete = false;
  while (!complete && (steps += 2) < 100) {
    std::size_t calls = 0;
    complete = run_some(path_, [&](const Status&) {
      nap();
      return ++calls < steps;
    });
  }
  EXPECT_GT(steps, 9U);  // a whole unit has more
  EXPECT_LT(steps, 100U);
  EXPECT_EQ(all_rows(path_, "s"), expected);
}

TEST_F(Resume, OfAPrunedAndDiagnosedStudy) {
  const std::string text = fmt::format("prune = 2\ndiagnose = true\n{}", kStudy);
  const auto expected = alone(text);
  std::size_t steps = 0;
  while (!run_some(
      path_,
      [&, calls = std::size_t{0}](const Status&) mutable {
        nap();
        return ++calls < steps;
      },
      text)) {
    steps += 5;
    ASSERT_LT(steps, 200U);
  }
  EXPECT_EQ(all_rows(path_, "s"), expected);
}

TEST_F(Resume, TwoThreadsShareTheUnits) {
  const auto expected = alone();
  std::vector<double> epochs(2);
  std::vector<std::thread> threads;
  for (double& mine : epochs) {
    threads.emplace_back([&] {
      Store store = Store::open(path_, Store::Mode::write);
      Runner runner = make_runner();
      EXPECT_TRUE(runner.run(store, [](const Status&) {
        nap();
        return true;
      }));
      mine = runner.timing().member_epochs;
      // Neither returns before all is there.
      EXPECT_TRUE(load_study(store, "s").complete);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(epochs[0], 0);
  EXPECT_GT(epochs[1], 0);
  // Nothing was trained twice: on two tasks 2 + 3 + 3 + 3 runs of three epochs, and one that
  // diverges in its first.
  EXPECT_EQ(epochs[0] + epochs[1], 2 * (3 * 11 + 1));
  EXPECT_EQ(all_rows(path_, "s"), expected);
}

TEST_F(Resume, AnErrorGivesTheUnitBack) {
  Store store = Store::open(path_, Store::Mode::write);
  Runner runner = make_runner();
  EXPECT_THROW(
      runner.run(store, [](const Status&) -> bool { throw std::runtime_error("no more"); }),
      std::runtime_error);
  EXPECT_EQ(store.progress(store.find_study("s")->id).leased, 0U);
  EXPECT_TRUE(runner.run(store, [](const Status&) { return true; }));
}

}  // namespace
}  // namespace tandem::study
