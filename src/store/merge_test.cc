// SPDX-License-Identifier: MIT
// Two stores become one.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/test_store.h"

namespace tandem::store {
namespace {

/// Into the first from the second, of whichever kinds. Two in one server are two databases.
class Merge : public StoreTest,
              public ::testing::WithParamInterface<std::pair<Database, Database>> {
 protected:
  void SetUp() override {
    const auto [here, there] = GetParam();
    other_ = folder_ / "other.db";
    if (here == Database::sqlite && there == Database::sqlite) return;
    const std::string missing = tests::PostgresServer::missing();
    if (!missing.empty()) GTEST_SKIP() << missing;
    tests::PostgresServer& server = tests::PostgresServer::shared();
    server.clear();
    server.clear("other");
    const std::string url = server.url();
    if (here == Database::postgres) location_ = url;
    if (there == Database::postgres) other_ = url.substr(0, url.rfind('/')) + "/other";
  }
  void remove_other() const {
    if (GetParam().second == Database::sqlite) {
      std::filesystem::remove(other_);
    } else {
      tests::PostgresServer::shared().clear("other");
    }
  }
  static void finish(Store& store, std::int64_t study, std::size_t unit) {
    const Unit found = store.units(study).at(unit);
    finish_unit(store, study, found, {sample_member(found.key)});
  }

  std::string other_;
};

TEST_P(Merge, TakesWhatIsNew) {
  Store here = write();
  plan(here, 1, "ours");
  {
    Store there = Store::open(other_, Store::Mode::write);
    plan(there, 1, "first");  // so that ids differ
    const std::int64_t study = plan(there, 3, "theirs");
    Task optimum = sample_task(study);
    optimum.optimum = 0.25;
    there.ensure_task(optimum);
    finish(there, study, 1);
    ASSERT_TRUE(there.lease(study, this_owner(), 3600).has_value());
  }
  const Merged merged = here.merge(other_);
  EXPECT_EQ(merged.studies, 2U);
  EXPECT_EQ(merged.units, 1U);
  EXPECT_EQ(merged.members, 1U);
  const auto study = here.find_study("theirs");
  ASSERT_TRUE(study.has_value());
  EXPECT_EQ(study->created, sample_study().created);
  const auto tasks = here.tasks(study->id);
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].optimum, 0.25);
  const Progress progress = here.progress(study->id);
  EXPECT_EQ(progress.units, 3U);
  EXPECT_EQ(progress.done, 1U);
  EXPECT_EQ(progress.leased, 0U);  // a lease is of its own store
  const auto members = here.members(tasks[0].id, Curves::all);
  ASSERT_EQ(members.size(), 1U);
  expect_same(members[0], sample_member("unit/1"));
  expect_whole();
}

TEST_P(Merge, CompletesAStudyThatIsInBoth) {
  Store here = write();
  const std::int64_t study = plan(here, 4);
  finish(here, study, 0);
  finish(here, study, 1);
  {
    Store there = Store::open(other_, Store::Mode::write);
    const std::int64_t theirs = plan(there, 5);
    finish(there, theirs, 4);
    finish(there, theirs, 2);
    finish(there, theirs, 1);
  }
  const Merged merged = here.merge(other_);
  EXPECT_EQ(merged.studies, 0U);
  EXPECT_EQ(merged.units, 2U);
  std::vector<std::string> order;
  for (const MemberRow& member : here.members(here.tasks(study)[0].id, Curves::none)) {
    order.push_back(member.options.at("lr"));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"unit/0", "unit/1", "unit/2", "unit/4"}));
  const Merged again = here.merge(other_);
  EXPECT_EQ(again.studies + again.units + again.members, 0U);
}

TEST_P(Merge, IsAllOrNothing) {
  Store here = write();
  plan(here, 1, "x");
  {
    Store there = Store::open(other_, Store::Mode::write);
    plan(there, 1, "a");
    Study study = sample_study("x");
    study.fingerprint = "beef";
    there.ensure_study(study);
  }
  expect_error([&] { here.merge(other_); }, {location_, "'x'", "f00d", "beef"});
  EXPECT_EQ(here.studies().size(), 1U);

  remove_other();
  {
    Store there = Store::open(other_, Store::Mode::write);
    Task task = sample_task(there.ensure_study(sample_study("x")).id);
    task.data_hash = "other";
    there.ensure_task(task);
  }
  expect_error([&] { here.merge(other_); }, {"hash of the data", "0123456789abcdef", "other"});
}

TEST_P(Merge, NeedsAnotherStore) {
  Store here = write();
  expect_error([&] { here.merge(location_); }, {location_, "itself"});
  expect_error([&] { here.merge(other_); },
               {other_, GetParam().second == Database::sqlite ? "no such store" : "has no store"});
}

constexpr auto kFile = Database::sqlite;
constexpr auto kServer = Database::postgres;

INSTANTIATE_TEST_SUITE_P(Databases, Merge,
                         ::testing::Values(std::pair(kFile, kFile), std::pair(kServer, kFile),
                                           std::pair(kFile, kServer), std::pair(kServer, kServer)),
                         [](const ::testing::TestParamInfo<std::pair<Database, Database>>& one) {
                           const auto name = [](Database database) {
                             return database == kFile ? "Sqlite" : "Postgres";
                           };
                           return std::string(name(one.param.first)) + "From" +
                                  name(one.param.second);
                         });

}  // namespace
}  // namespace tandem::store
