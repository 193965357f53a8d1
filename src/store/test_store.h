// SPDX-License-Identifier: MIT
// For tests: stores that go with the test, and studies to put in.
#pragma once

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/postgres_server.h"
#include "tests/temp_folder.h"

namespace tandem::store {

/// A store in a file.
class StoreTest : public ::testing::Test {
 protected:
  Store write() const { return Store::open(location_, Store::Mode::write); }
  Store read() const { return Store::open(location_, Store::Mode::read); }

  /// What `work` throws is a StoreError with all these parts.
  void expect_error(const std::function<void()>& work, const std::vector<std::string>& parts) {
    try {
      work();
      ADD_FAILURE() << "no error";
    } catch (const StoreError& error) {
      const std::string message = error.what();
      for (const std::string& part : parts) {
        EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
      }
    }
  }

  /// SQLite's own opinion of the file.
  void expect_whole() const {
    if (location_ != path_) return;
    SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE, 10'000);
    EXPECT_EQ(database.execAndGet("PRAGMA integrity_check").getString(), "ok");
    EXPECT_EQ(database.execAndGet("SELECT count(*) FROM pragma_foreign_key_check").getInt(), 0);
  }

  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
  std::filesystem::path path_ = folder_ / "runs.db";
  std::string location_ = path_;
};

/// The databases that keep stores.
enum class Database { sqlite, postgres };

inline std::string name_of(const ::testing::TestParamInfo<Database>& database) {
  return database.param == Database::sqlite ? "Sqlite" : "Postgres";
}

/// A store in a file, or in a server's database, which is empty at first.
class AnyStore : public StoreTest, public ::testing::WithParamInterface<Database> {
 protected:
  void SetUp() override {
    if (GetParam() == Database::sqlite) return;
    const std::string missing = tests::PostgresServer::missing();
    if (!missing.empty()) GTEST_SKIP() << missing;
    tests::PostgresServer& server = tests::PostgresServer::shared();
    server.clear();
    location_ = server.url();
  }
};

inline Study sample_study(const std::string& name = "kdd") {
  return {.name = name,
          .text = "name = \"kdd\"\nepochs = 20\n",
          .fingerprint = "f00d",
          .version = "1.0.0",
          .target = "AVX2",
          .machine = "a machine",
          .command = "tandem study kdd.toml",
          .created = 1'700'000'000,
          .pruned = false,
          .epochs = 20,
          .tune_seed = std::numeric_limits<std::uint64_t>::max(),
          .seeds = {1, 2, std::numeric_limits<std::uint64_t>::max()}};
}

inline Task sample_task(std::int64_t study_id, const std::string& key = "nsl-kdd/logistic") {
  return {.study_id = study_id,
          .key = key,
          .data = "nsl-kdd",
          .model = "logistic",
          .lambda = 0.023,
          .batch = 64,
          .samples = 125'973,
          .dimension = 615,
          .data_hash = "0123456789abcdef",
          .facts = R"({"recipe": "one-hot"})",
          .optimum = std::nullopt};
}

inline Unit sample_unit(std::int64_t task_id, const std::string& key) {
  return {.task_id = task_id,
          .key = key,
          .optimizer = "adam",
          .phase = Phase::tune,
          .seed = 7,
          .members = R"([{"lr": "0.1"}])",
          .place = std::nullopt};
}

inline MemberRow sample_member(const std::string& lr = "0.1", std::size_t points = 3) {
  MemberRow member{.optimizer = "adam",
                   .method = "adam",
                   .baseline = true,
                   .options = {{"decay", "1"}, {"lr", lr}},
                   .seed = 7,
                   .phase = Phase::tune,
                   .diverged = false,
                   .diverged_at = 0,
                   .pruned = false,
                   .state_bytes = 4920,
                   .points = {}};
  for (std::size_t i = 0; i < points; ++i) {
    const double x = static_cast<double>(i);
    member.points.push_back({.epoch = i,
                             .step = i * 1969,
                             .gradient_evaluations = i * 125'973,
                             .seconds = 0.1 * x,
                             .train_loss = 1 / (1 + x),
                             .validation_loss = 1.1 / (1 + x),
                             .validation_accuracy = x / (1 + x)});
  }
  return member;
}

/// A store with one study of one task and so many units; gives the study's id.
inline std::int64_t plan(Store& store, std::size_t units, const std::string& name = "kdd") {
  const Study study = store.ensure_study(sample_study(name));
  const Task task = store.ensure_task(sample_task(study.id));
  std::vector<Unit> list;
  for (std::size_t i = 0; i < units; ++i) {
    list.push_back(sample_unit(task.id, "unit/" + std::to_string(i)));
  }
  store.add_units(study.id, list);
  return study.id;
}

inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (a != a && b != b);
}

inline void expect_same(const MemberRow& a, const MemberRow& b) {
  EXPECT_EQ(a.optimizer, b.optimizer);
  EXPECT_EQ(a.method, b.method);
  EXPECT_EQ(a.baseline, b.baseline);
  EXPECT_EQ(a.options, b.options);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.diverged, b.diverged);
  EXPECT_EQ(a.diverged_at, b.diverged_at);
  EXPECT_EQ(a.pruned, b.pruned);
  EXPECT_EQ(a.state_bytes, b.state_bytes);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const train::Point& p = a.points[i];
    const train::Point& q = b.points[i];
    train::for_each_point_field([&](auto field) {
      if constexpr (field.kCounts) {
        EXPECT_EQ(p.*field.member, q.*field.member) << field.name;
      } else {
        EXPECT_TRUE(same_bits(p.*field.member, q.*field.member)) << field.name;
      }
    });
  }
}

/// Runs `work` in a process of its own; no Store may be open in this one. Gives its number.
inline pid_t in_child(const std::function<int()>& work) {
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  int code = 99;
  try {
    code = work();
  } catch (const std::exception& error) {
    fprintf(stderr, "child: %s\n", error.what());
  }
  _exit(code);
}

inline int exit_code_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace tandem::store
