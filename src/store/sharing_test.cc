// SPDX-License-Identifier: MIT
// Threads and processes that share one store, and processes that are killed while they write.
#include <gtest/gtest.h>

#include <csignal>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "store/test_store.h"

namespace tandem::store {
namespace {

/// Takes units until there are none; how many it finished.
int work_through(const std::string& location, const std::string& owner) {
  Store store = Store::open(location, Store::Mode::write);
  const std::int64_t study = store.studies().at(0).id;
  int finished = 0;
  while (const auto unit = store.lease(study, owner, 3600)) {
    MemberRow member = sample_member(unit->unit.key);
    member.method = owner;
    if (!store.finish(*unit, {member})) return -1;
    ++finished;
  }
  return finished;
}

class Sharing : public AnyStore {
 protected:
  /// Every unit was done by one worker, and reading gives them in order.
  void expect_each_once(std::size_t units) {
    expect_whole();
    const Store store = read();
    const std::int64_t study = store.studies().at(0).id;
    EXPECT_EQ(store.progress(study).done, units);
    const auto members = store.members(store.tasks(study).at(0).id, Curves::all);
    ASSERT_EQ(members.size(), units);
    for (std::size_t i = 0; i < units; ++i) {
      EXPECT_EQ(members[i].options.at("lr"), "unit/" + std::to_string(i));
      EXPECT_EQ(members[i].points.size(), 3U);
    }
  }
};

TEST_P(Sharing, TwoThreadsDoEachUnitOnce) {
  {
    Store store = write();
    plan(store, 200);
  }
  std::vector<int> finished(2);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < finished.size(); ++i) {
    threads.emplace_back(
        [&, i] { finished[i] = work_through(location_, "t" + std::to_string(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished[0] + finished[1], 200);
  expect_each_once(200);
}

TEST_P(Sharing, TwoProcessesDoEachUnitOnce) {
  {
    Store store = write();
    plan(store, 200);
  }
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    children.push_back(in_child([&] {
      const int finished = work_through(location_, this_owner());
      return finished < 0 ? 1 : 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exit_code_of(child), 0);
  expect_each_once(200);
}

TEST_P(Sharing, ManyMakeTheSameStoreAtOnce) {
  for (int round = 0; round < 5; ++round) {
    if (GetParam() == Database::postgres) {
      tests::PostgresServer::shared().clear();
    } else {
      for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(location_ + end);
    }
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      children.push_back(in_child([&] {
        Store store = write();
        plan(store, 10);
        return work_through(location_, this_owner()) < 0 ? 1 : 0;
      }));
    }
    for (const pid_t child : children) EXPECT_EQ(exit_code_of(child), 0);
    expect_each_once(10);
  }
}

/// Kills a writer again and again; another goes on where it was. A unit is whole or absent.
class Killing : public Sharing {
 protected:
  static constexpr std::size_t kMembers = 40;
  static constexpr std::size_t kPoints = 21;

  static int write_on(const std::string& location, int ready) {
    Store store = Store::open(location, Store::Mode::write);
    if (::write(ready, "", 1) != 1) return 2;
    const std::int64_t study = store.studies().at(0).id;
    const std::string owner = this_owner();
    while (const auto unit = store.lease(study, owner, 3600)) {
      std::vector<MemberRow> members;
      for (std::size_t i = 0; i < kMembers; ++i) {
        members.push_back(sample_member(unit->unit.key, kPoints));
      }
      if (!store.finish(*unit, members)) return 1;
    }
    return 0;
  }

  void kill_again_and_again(std::size_t kills, std::size_t units) {
    {
      Store store = write();
      plan(store, units);
    }
    std::mt19937_64 random(5);
    std::size_t killed = 0;
    std::size_t seen = 0;
    bool finished = false;
    while (!finished) {
      int ready[2];
      ASSERT_EQ(pipe(ready), 0);
      const pid_t child = in_child([&] { return write_on(location_, ready[1]); });
      close(ready[1]);
      if (killed < kills) {
        char byte = 0;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);  // it writes from now on
        const long nanoseconds = static_cast<long>(random() % 20'000'000);
        const timespec pause{.tv_sec = 0, .tv_nsec = nanoseconds};
        nanosleep(&pause, nullptr);
        kill(child, SIGKILL);
        ++killed;
      }
      finished = exit_code_of(child) == 0;
      close(ready[0]);
      seen = check(seen);
      if (HasFailure()) return;
    }
    expect_whole();
    EXPECT_EQ(seen, units);
    RecordProperty("kills", static_cast<int>(killed));
  }

  /// How many units are done: never fewer than before.
  std::size_t check(std::size_t before) {
    const Store store = read();
    const std::int64_t study = store.studies().at(0).id;
    std::map<std::string, std::size_t> members;
    for (const MemberRow& member : store.members(store.tasks(study).at(0).id, Curves::all)) {
      EXPECT_EQ(member.points.size(), kPoints);
      ++members[member.options.at("lr")];
    }
    std::size_t done = 0;
    for (const Unit& unit : store.units(study)) {
      done += unit.done ? 1 : 0;
      EXPECT_EQ(members[unit.key], unit.done ? kMembers : 0) << unit.key;
    }
    EXPECT_EQ(store.totals(study).members, done * kMembers);  // none without a finished unit
    EXPECT_GE(done, before);
    return done;
  }
};

TEST_P(Killing, AUnitIsWholeOrAbsent) { kill_again_and_again(15, 60); }

TEST_P(Killing, SlowAUnitIsWholeOrAbsent) { kill_again_and_again(300, 1200); }

INSTANTIATE_TEST_SUITE_P(Databases, Sharing,
                         ::testing::Values(Database::sqlite, Database::postgres), name_of);
INSTANTIATE_TEST_SUITE_P(Databases, Killing,
                         ::testing::Values(Database::sqlite, Database::postgres), name_of);

}  // namespace
}  // namespace tandem::store
