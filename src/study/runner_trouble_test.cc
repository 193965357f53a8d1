// SPDX-License-Identifier: MIT
// What becomes of a study whose store is interfered with while it runs, or was damaged before.
#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "study/load.h"
#include "study/runner.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::study {
namespace {

namespace fs = std::filesystem;

using store::Store;

std::string study_text(const std::string& lambda = "0.01") {
  return fmt::format(
      "name = \"s\"\nseeds = [1, 2]\nepochs = 2\n[[task]]\n"
      "data = \"synthetic:rows=200,features=6,noise=0.1,seed=3\"\nlambda = {}\nbatch = 16\n"
      "[[optimizer]]\nname = \"adam\"\nbaseline = true\nlr = [0.001, 0.1, 0.01]\n"
      "[[optimizer]]\nname = \"sgd\"\nlr = [0.1, 1]\n",
      lambda);
}

class RunnerTrouble : public ::testing::Test {
 protected:
  static Runner runner(const std::string& text = study_text()) {
    return Runner(parse_study(text, "s.toml"), {.memory = std::size_t{1} << 30});
  }
  /// Runs the study; `disturb` is called once, while a unit is in work after so many are done.
  void run(std::size_t units_done, const std::function<void()>& disturb) {
    Store store = Store::open(path_, Store::Mode::write);
    bool disturbed = false;
    runner().run(store, [&](const Status& status) {
      if (status.units_done >= units_done && !disturbed) {
        disturbed = true;
        done_ = status.units_done;
        disturb();
      }
      return true;
    });
  }
  std::string error_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const store::StoreError& error) {
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }
  static void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
    }
  }

  tests::TempFolder folder_;
  fs::path path_ = folder_ / "runs.db";
  std::size_t done_ = 0;  // units, when the store was interfered with
};

TEST_F(RunnerTrouble, AStudyThatTakesTheRemovedOnesPlaceIsLeftAlone) {
  std::size_t done = 0;
  const auto replace = [&] {
    Store other = Store::open(path_, Store::Mode::write);
    EXPECT_FALSE(other.remove_study(other.find_study("s")->id, false));  // it is at work
    EXPECT_TRUE(other.remove_study(other.find_study("s")->id, true));
    // Of the same name and shape, and not done yet.
    runner(study_text("0.1")).run(other, [](const Status& status) {
      return status.units_done < 1;
    });
    done = other.progress(other.find_study("s")->id).done;
  };
  EXPECT_THROW(run(1, replace), store::StudyRemoved);
  {
    Store store = Store::open(path_, Store::Mode::write);
    EXPECT_EQ(store.progress(store.find_study("s")->id).done, done);
    EXPECT_TRUE(runner(study_text("0.1")).run(store, [](const Status&) { return true; }));
  }
  {
    Store alone = Store::open(folder_ / "alone.db", Store::Mode::write);
    EXPECT_TRUE(runner(study_text("0.1")).run(alone, [](const Status&) { return true; }));
  }
  EXPECT_EQ(all_rows(path_, "s"), all_rows(folder_ / "alone.db", "s"));
}

TEST_F(RunnerTrouble, TheSearchForTheOptimumHoldsALease) {
  bool seen = false;
  Store store = Store::open(path_, Store::Mode::write);
  EXPECT_TRUE(runner().run(store, [&](const Status& status) {
    if (status.doing.find("the optimum") == std::string::npos || seen) return true;
    seen = true;
    Store other = Store::open(path_, Store::Mode::write);
    const std::int64_t study = other.find_study("s")->id;
    EXPECT_EQ(other.progress(study).leased, 1U);
    EXPECT_FALSE(other.remove_study(study, false));
    return true;
  }));
  EXPECT_TRUE(seen);
  EXPECT_TRUE(store.tasks(store.find_study("s")->id).at(0).optimum);
}

TEST_F(RunnerTrouble, ARemovedStoreIsSavedBesideItsPlace) {
  const std::string message = error_of([&] {
    run(2, [&] {
      for (const char* end : {"", "-wal", "-shm"}) fs::remove(path_.string() + end);
    });
  });
  expect_parts(message, {path_.string(), "removed, moved or replaced", ".rescued-"});
  EXPECT_FALSE(fs::exists(path_));
  const std::size_t at = message.find(path_.string() + ".rescued-");
  ASSERT_NE(at, std::string::npos) << message;
  const fs::path rescued = message.substr(at);
  {
    Store store = Store::open(rescued, Store::Mode::write);
    // Those that were there, and the one that was in work.
    EXPECT_EQ(store.progress(store.find_study("s")->id).done, done_ + 1);
    EXPECT_TRUE(runner().run(store, [](const Status&) { return true; }));
  }
  {
    Store alone = Store::open(folder_ / "alone.db", Store::Mode::write);
    EXPECT_TRUE(runner().run(alone, [](const Status&) { return true; }));
  }
  EXPECT_EQ(all_rows(rescued, "s"), all_rows(folder_ / "alone.db", "s"));
}

TEST_F(RunnerTrouble, ADamagedUnitIsRefusedByName) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> damages = {
      {R"(members = '{"setting":99999999,"seeds":[1]}')", {"'first' is missing"}},
      {R"(members = '{"first":99999999,"last":3}')", {"99999999", "below 3"}},
      {R"(members = '{"first":-1,"last":3}')", {"-1", "below 3"}},
      {R"(members = '{"first":"0","last":3}')", {"\"0\"", "below 3"}},
      {R"(members = '{"first":0,"last":4}')", {"'last' 4", "below 4"}},
      {R"(members = '{"first":2,"last":2}')", {"'last' is not above 2"}},
      {"members = '[]'", {"'first' is missing"}},
      {"members = 'nonsense'", {"'nonsense'"}},
      {"seed = 77", {"seed 77"}},
      {"optimizer = 'nobody'", {"'nobody'", "none of the study's"}},
      {"optimizer = 'adam', phase = 'measure', members = '{\"setting\":3,\"seeds\":[1]}'",
       {"'setting' 3", "below 3"}},
      {"optimizer = 'adam', phase = 'measure', members = '{\"setting\":0,\"seeds\":[9]}'",
       {"seed 9"}},
      {"optimizer = 'adam', phase = 'measure', members = '{\"setting\":0,\"seeds\":\"1\"}'",
       {"expected what the study planned"}},
  };
  for (const auto& [damage, parts] : damages) {
    SCOPED_TRACE(damage);
    for (const char* end : {"", "-wal", "-shm"}) fs::remove(path_.string() + end);
    {
      Store store = Store::open(path_, Store::Mode::write);
      EXPECT_FALSE(runner().run(store, [](const Status&) { return false; }));
    }
    {
      SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE);
      ASSERT_EQ(database.exec("UPDATE unit SET " + damage + " WHERE key LIKE '%adam/tune/0'"), 1);
    }
    Store store = Store::open(path_, Store::Mode::write);
    const std::string message =
        error_of([&] { runner().run(store, [](const Status&) { return true; }); });
    expect_parts(message, {"study 's'", "adam/tune/0", "damaged"});
    expect_parts(message, parts);
    EXPECT_EQ(store.progress(store.find_study("s")->id).leased, 0U);  // given back
  }
}

}  // namespace
}  // namespace tandem::study
