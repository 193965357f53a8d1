// SPDX-License-Identifier: MIT
// `tandem study` on several machines as a user meets it: parts, workers, CPU targets; workers that
// are killed, and that were stopped until others had their unit.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tandem/version.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/command.h"
#include "cli/test_process.h"
#include "cli/test_program.h"
#include "store/store.h"
#include "study/load.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

using std::chrono::milliseconds;
using store::Store;

constexpr const char* kStudy = R"(
epochs = 6
seeds = [1, 2]
[[task]]
data = "synthetic:rows=2000,features=30,classes=4,noise=0.1,seed=5"
lambda = [1, 0.1, 0.01]
batch = 20
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1, 0.001]
[[optimizer]]
name = "diag-to"
lr = [0.02, 0.2, 1e8]
alpha = [0, 0.1]
)";

class StudyWorkers : public ::testing::Test {
 protected:
  std::string study(const std::string& name) {
    const auto path = folder_ / (name + ".toml");
    std::ofstream(path) << "name = \"" << name << "\"\n" << kStudy;
    return path.string();
  }
  std::string store(const std::string& name = "runs") {
    return (folder_ / (name + ".db")).string();
  }
  Result run(const std::string& arguments, bool with_errors = false) {
    return program("study " + arguments, with_errors);
  }
  std::vector<std::string> alone(const std::string& name) {
    const std::string path = store(name + "-alone");
    EXPECT_EQ(run(study(name) + " --store " + path).exit_code, kDone);
    return study::all_rows(path, name);
  }
  std::vector<std::string> worker(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{"study", "--worker", "--store", store()};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  store::Progress progress(const std::string& name) {
    const Store open = Store::open(store(), Store::Mode::read);
    return open.progress(open.find_study(name).value().id);
  }
  /// Until so many units are done, or the study is.
  void wait_for(const std::string& name, std::size_t units) {
    while (progress(name).done < units) std::this_thread::sleep_for(milliseconds(3));
  }
  /// Not in a transaction, for whose end others would wait.
  void stop_in_training(const Process& process) {
    while (true) {
      process.send(SIGSTOP);
      try {
        SQLite::Database database(store(), SQLite::OPEN_READWRITE);
        const SQLite::Transaction nobody_writes(database, SQLite::TransactionBehavior::IMMEDIATE);
        if (progress("s").leased == 1) return;
      } catch (const SQLite::Exception&) {
        // It has the right to write.
      }
      process.send(SIGCONT);
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  void expect_error(const std::string& arguments, int code, const std::vector<std::string>& parts) {
    expect_end(run(arguments, true), code, parts);
  }

  tests::TempFolder folder_;
};

TEST_F(StudyWorkers, AStoreWithoutStudiesIsNamed) {
  const std::string none = store("none");
  expect_error("--worker --store " + none, kData, {none});
  EXPECT_FALSE(std::filesystem::exists(none));
  { const Store empty = Store::open(none, Store::Mode::write); }
  expect_error("--worker --store " + none, kFailed, {none, "has no studies", "--add"});
}

TEST_F(StudyWorkers, PartsAreMergedToTheRowsOfOneProcess) {
  const auto expected = alone("s");
  std::string stores;
  for (int part = 1; part <= 3; ++part) {
    const std::string own = store(std::to_string(part));
    const Result result =
        run(fmt::format("{} --part {}/3 --store {}", study("s"), part, own), true);
    expect_end(result, kDone,
               {fmt::format("part {}/3 is done", part), "runs merge", "not complete"});
    stores += " " + own;
  }
  EXPECT_EQ(program("runs merge" + stores + " --store " + store()).exit_code, kDone);
  EXPECT_EQ(study::all_rows(store(), "s"), expected);
  EXPECT_TRUE(study::load_study(Store::open(store(), Store::Mode::read), "s").complete);
}

TEST_F(StudyWorkers, WhatDoesNotGoTogetherIsRefused) {
  const std::string file = study("s");
  const std::string to = " --store " + store();
  for (const char* part : {"0/3", "4/3", "1", "x", "1/3/3", "1/100000"}) {
    expect_error(file + to + " --part " + part, kUsage,
                 {fmt::format("Invalid part '{}'", part), "such as 1/4"});
  }
  expect_error(file + to + " --worker", kUsage, {"--worker does not go with a study file"});
  expect_error("--worker --part 1/2" + to, kUsage, {"--worker does not go with --part"});
  expect_error("--worker --dry-run" + to, kUsage, {"--worker does not go with --dry-run"});
  expect_error("--worker --add" + to, kUsage, {"--worker does not go with --add"});
  expect_error(file + " --wait" + to, kUsage, {"--wait does not go with a study file"});
  expect_error(file + " --add --part 1/2" + to, kUsage, {"--add does not go with --part"});
  expect_error(file + " --lease 0" + to, kUsage, {"--lease"});
  expect_error("--wait" + to, kUsage, {"FILE"});
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(StudyWorkers, AddOnlyPlansAndWorkersDoTheWork) {
  const auto expected = alone("a");
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(run(study(name) + " --add --store " + store()).exit_code, kDone);
    EXPECT_EQ(progress(name).done, 0U);
    EXPECT_GT(progress(name).units, 0U);
  }
  Process one(worker());
  Process two(worker());
  EXPECT_EQ(one.wait(), kDone);
  EXPECT_EQ(two.wait(), kDone);
  EXPECT_EQ(study::all_rows(store(), "a"), expected);
  EXPECT_EQ(study::all_rows(store(), "b"), alone("b"));
}

TEST_F(StudyWorkers, OneThatWaitsTakesLaterStudiesUntilItIsStopped) {
  { Store::open(store(), Store::Mode::write); }
  Process waiting(worker({"--wait"}));
  EXPECT_FALSE(waiting.ends_within(milliseconds(500)));
  EXPECT_EQ(run(study("s") + " --add --store " + store()).exit_code, kDone);
  wait_for("s", progress("s").units);
  EXPECT_FALSE(waiting.ends_within(milliseconds(100)));
  waiting.send(SIGTERM);
  EXPECT_EQ(waiting.wait(), kInterrupted);
}

TEST_F(StudyWorkers, ATargetIsPinnedRecordedAndAsked) {
  const std::vector<std::string> targets = cpu_targets();
  if (targets.size() < 2) GTEST_SKIP() << "this CPU runs " << targets.front() << " alone";
  const std::string file = study("s") + " --store " + store();
  EXPECT_EQ(run(file + " --add --target " + targets[1]).exit_code, kDone);
  {
    const Store open = Store::open(store(), Store::Mode::read);
    EXPECT_EQ(open.find_study("s").value().target, targets[1]);
  }
  expect_error(file, kData,
               {"CPU target " + targets[1], "runs " + targets[0], "--target " + targets[1]});
  expect_error("--worker --store " + store(), kData,
               {"--target " + targets[1], "1 of the studies"});
  EXPECT_EQ(run("--worker --store " + store() + " --target " + targets[1]).exit_code, kDone);
  EXPECT_EQ(run(file + " --target " + targets[1]).exit_code, kDone);
  EXPECT_NE(study::all_rows(store(), "s"), alone("s"));  // other bits
  SQLite::Database(store(), SQLite::OPEN_READWRITE).exec("UPDATE study SET target = 'ALIEN'");
  expect_error(file, kData,
               {"CPU target ALIEN", "this CPU runs " + targets[0] + ", " + targets[1]});
}

TEST_F(StudyWorkers, AUnitOfAKilledWorkerIsDoneByAnother) {
  const auto expected = alone("s");
  EXPECT_EQ(run(study("s") + " --add --store " + store()).exit_code, kDone);
  for (std::size_t units = 1; units <= 5; ++units) {
    Process victim(worker());
    wait_for("s", units);
    victim.send(SIGKILL);
    victim.wait();
  }
  EXPECT_EQ(run("--worker --store " + store()).exit_code, kDone);
  EXPECT_EQ(study::all_rows(store(), "s"), expected);
}

TEST_F(StudyWorkers, OneWhoseLeaseRanOutCannotWriteTwice) {
  const auto expected = alone("s");
  EXPECT_EQ(run(study("s") + " --add --store " + store()).exit_code, kDone);
  Process stopped(worker({"--lease", "1"}));
  wait_for("s", 1);
  stop_in_training(stopped);
  // Others do all of it, the unit that the stopped one holds too.
  EXPECT_EQ(run("--worker --lease 1 --store " + store()).exit_code, kDone);
  const auto all = progress("s");
  EXPECT_EQ(all.done, all.units);
  stopped.send(SIGCONT);
  EXPECT_EQ(stopped.wait(), kDone);
  EXPECT_EQ(progress("s").members, all.members);
  EXPECT_EQ(progress("s").revision, all.revision);
  EXPECT_EQ(study::all_rows(store(), "s"), expected);
}

}  // namespace
}  // namespace tandem::cli
