// SPDX-License-Identifier: MIT
// Stores in a PostgreSQL database: what is refused, what a lost connection costs, poolers, rights.
// What both databases have in common is tested beside them (AnyStore, Sharing, Merge).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "store/location.h"
#include "store/postgres_values.h"
#include "store/schema.h"
#include "store/test_proxy.h"
#include "store/test_store.h"

namespace tandem::store {
namespace {

using tests::Pgbouncer;
using tests::PostgresServer;

// ---- Locations ----------------------------------------------------------------------------------

TEST(StoreLocation, PasswordsAreRefusedAndNotShown) {
  for (const std::string url :
       {"postgresql://me:s3cret@host/runs", "postgres://me:s3cret@host:5432/runs",
        "postgresql://me:s3c/s3cret@host/runs", "postgresql://me:s3@s3cret@host/runs",
        "postgresql://me:s3?s3cret@host/runs", "postgresql://me@host/runs?password=s3cret",
        "postgresql://host/runs?sslmode=require&password=s3cret",
        "postgresql:///runs?pass%77ord=s3cret", "postgresql:///runs?sslpassword=s3cret",
        "postgresql://me:%73s3cret@/runs"}) {
    try {
      Store::open(url, Store::Mode::read);
      ADD_FAILURE() << url;
    } catch (const StoreError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find("s3c"), std::string::npos) << message;
      EXPECT_NE(message.find(".pgpass"), std::string::npos) << message;
    }
  }
}

TEST(StoreLocation, FilesAndUrls) {
  for (const std::string url :
       {"postgresql://host/runs", "postgres://me@host:5432,other:5433/runs?sslmode=require",
        "postgresql:///runs?host=/var/run/x&passfile=/home/me/pass", "postgresql://"}) {
    EXPECT_TRUE(is_postgres(url)) << url;
    EXPECT_EQ(short_name(url), url);
  }
  for (const std::string file :
       {"runs.db", "/tmp/a b/runs.db", "postgresql:runs", "://x", "a/b://c"}) {
    EXPECT_FALSE(is_postgres(file)) << file;
  }
  EXPECT_EQ(short_name("/tmp/runs.db"), "runs.db");
  for (const std::string other : {"mysql://host/runs", "http://host", "sqlite:///tmp/runs.db"}) {
    EXPECT_THROW(is_postgres(other), StoreError) << other;
  }
}

TEST(StoreLocation, TextOfAnyBytesIsHeld) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& text :
       {std::string(), all, std::string("plain"), std::string("é研\U0001F600"),
        std::string("\xEF\xB7\x90\xEF\xB7\xA1 noncharacters \xEF\xB7\xAF"), std::string("\xEF\xB7"),
        std::string("\xED\xA0\x80 a surrogate"), std::string("a\0b", 3)}) {
    const std::string held = to_postgres(text);
    EXPECT_EQ(held.find('\0'), std::string::npos);
    EXPECT_EQ(to_postgres(from_postgres(held)), held);
    EXPECT_EQ(from_postgres(held), text);
  }
  EXPECT_EQ(to_postgres("as é it is"), "as é it is");
}

// ---- The server ---------------------------------------------------------------------------------

class PostgresStore : public StoreTest {
 protected:
  void SetUp() override {
    const std::string missing = PostgresServer::missing();
    if (!missing.empty()) GTEST_SKIP() << missing;
    server().clear();
    location_ = server().url();
  }
  static PostgresServer& server() { return PostgresServer::shared(); }
  std::string number(const std::string& sql) const {
    std::string text = server().sql(sql);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  void expect_refused(const std::vector<std::string>& parts) {
    for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
      expect_error([&] { Store::open(location_, mode); }, parts);
    }
  }
};

TEST_F(PostgresStore, NothingThere) {
  expect_error([&] { read(); }, {location_, "no store", "tandem study"});
  EXPECT_FALSE(Store::exists(location_));
  EXPECT_EQ(number("SELECT count(*) FROM pg_namespace WHERE nspname = 'tandem'"), "0");
  { write(); }
  EXPECT_TRUE(Store::exists(location_));
  location_ = "postgresql://postgres@127.0.0.1:1/runs";
  expect_refused({location_, "cannot connect"});
  location_ = server().url() + "-none";
  expect_refused({location_, "does not exist", "createdb"});
  location_ = "postgresql://127.0.0.1/runs?no_such=1";
  expect_refused({location_, "no_such", "expected postgresql://"});
}

TEST_F(PostgresStore, ANewerStoreIsRefusedAndLeftAsItIs) {
  { write(); }
  server().sql("UPDATE tandem.store SET version = 99");
  expect_refused(
      {location_, "version 99", "up to " + std::to_string(kSchemaVersion), "newer Tandem"});
  EXPECT_EQ(number("SELECT version FROM tandem.store"), "99");
  server().sql("UPDATE tandem.store SET version = 0");
  expect_refused({location_, "damaged"});
  server().sql("DELETE FROM tandem.store");
  expect_refused({location_, "damaged"});
}

TEST_F(PostgresStore, AnotherProgramsSchemaIsRefusedAndLeftAsItIs) {
  server().sql("CREATE SCHEMA tandem; CREATE TABLE tandem.things (a int)");
  expect_refused({location_, "another program"});
  EXPECT_EQ(number("SELECT count(*) FROM pg_tables WHERE schemaname = 'tandem'"), "1");
}

TEST_F(PostgresStore, OtherTablesOfTheDatabaseAreLeftAlone) {
  server().sql("DROP TABLE IF EXISTS study; CREATE TABLE study (a int)");
  Store store = write();
  plan(store, 2);
  EXPECT_EQ(number("SELECT count(*) FROM public.study"), "0");
  server().sql("DROP TABLE study");
}

TEST_F(PostgresStore, ADatabaseInAnotherEncodingIsRefused) {
  server().sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0", "postgres");
  location_ = location_.substr(0, location_.rfind('/')) + "/latin";
  expect_refused({location_, "LATIN1", "UTF8", "createdb"});
  server().sql("DROP DATABASE latin", "postgres");
}

TEST_F(PostgresStore, DamagedTablesAreNoticed) {
  { write(); }
  server().sql("DROP TABLE tandem.point");
  Store store = write();
  const std::int64_t study = plan(store, 1);
  const auto lease = store.lease(study, "me", 60);
  expect_error([&] { store.finish(*lease, {sample_member()}); }, {location_, "damaged", "point"});
  EXPECT_EQ(store.progress(study).done, 0U);
}

// ---- Rights -------------------------------------------------------------------------------------

TEST_F(PostgresStore, ARoleThatMayOnlyRead) {
  std::int64_t study = 0;
  {
    Store store = write();
    study = plan(store, 2);
    finish_unit(store, study, store.units(study)[0], {sample_member()});
  }
  server().sql(
      "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA tandem TO "
      "reader; "
      "GRANT SELECT ON ALL TABLES IN SCHEMA tandem TO reader");
  location_ = server().url("reader");
  const Store store = read();
  EXPECT_EQ(store.studies().size(), 1U);
  EXPECT_EQ(store.progress(study).done, 1U);
  EXPECT_EQ(store.members(store.tasks(study)[0].id, Curves::all).size(), 1U);
  EXPECT_TRUE(store.workers(study).empty());
  expect_error([&] { write(); }, {location_, "may read the store but not write", "GRANT"});
  server().sql("REVOKE ALL ON ALL TABLES IN SCHEMA tandem FROM reader");
  expect_refused({location_, "the role may not do this", "permission denied"});
  server().sql("REVOKE ALL ON SCHEMA tandem FROM reader; DROP ROLE reader");
}

TEST_F(PostgresStore, ARoleThatMayNotMakeAStoreUnlessItWasGivenASchema) {
  server().sql("DROP ROLE IF EXISTS worker; CREATE ROLE worker LOGIN");
  location_ = server().url("worker");
  expect_error([&] { write(); }, {location_, "permission denied", "CREATE in the database"});
  server().sql("CREATE SCHEMA tandem AUTHORIZATION worker");
  {
    Store store = write();
    plan(store, 1);
  }
  server().clear();
  server().sql("DROP ROLE worker");
}

// ---- Sessions -----------------------------------------------------------------------------------

TEST_F(PostgresStore, OneConnectionAndNoTransactionBetweenCalls) {
  Store store = write();
  const std::int64_t study = plan(store, 2);
  const auto lease = store.lease(study, this_owner(), 60);
  store.tell(study, {.owner = this_owner()});
  store.renew(*lease, 60);
  EXPECT_EQ(number("SELECT count(*), string_agg(state, ' ') FROM pg_stat_activity "
                   "WHERE application_name = 'tandem'"),
            "1|idle");
}

TEST_F(PostgresStore, HostileTextIsText) {
  const std::string bad = "'; DROP SCHEMA tandem CASCADE; -- $1 \" \\ %s {} \x1b[31m \xff\n";
  Study study = sample_study(bad);
  study.text = study.fingerprint = study.version = study.target = study.machine = study.command =
      bad;
  Store store = write();
  study = store.ensure_study(study);
  Task task = sample_task(study.id, bad);
  task.data = task.model = task.data_hash = task.facts = bad;
  task = store.ensure_task(task);
  Unit unit = sample_unit(task.id, bad);
  unit.optimizer = unit.members = bad;
  store.add_units(study.id, {unit});
  MemberRow member = sample_member();
  member.optimizer = member.method = bad;
  store.tell(study.id, {.owner = bad, .doing = bad, .curve = bad});
  EXPECT_EQ(store.workers(study.id).at(0).doing, bad);
  store.untell(study.id, bad);
  EXPECT_TRUE(store.workers(study.id).empty());
  const auto lease = store.lease(study.id, bad, 60, bad);
  ASSERT_TRUE(lease.has_value());
  EXPECT_TRUE(store.finish(*lease, {member}));
  const Study found = store.find_study(bad).value();
  EXPECT_EQ(found.text, bad);
  EXPECT_EQ(found.command, bad);
  EXPECT_EQ(store.tasks(study.id).at(0).facts, bad);
  EXPECT_EQ(store.units(study.id).at(0).members, bad);
  expect_same(store.members(task.id, Curves::all, bad).at(0), member);
}

// ---- Lost connections ---------------------------------------------------------------------------

TEST_F(PostgresStore, AServerThatRestartsCostsNothing) {
  Store store = write();
  const Store reader = read();
  const std::int64_t study = plan(store, 3);
  const auto first = store.lease(study, this_owner(), 60);
  server().crash();
  server().start();
  EXPECT_TRUE(store.finish(*first, {sample_member()}));
  EXPECT_EQ(reader.progress(study).done, 1U);
  const auto second = store.lease(study, this_owner(), 60);
  server().stop();
  expect_error([&] { write(); }, {location_, "cannot connect"});
  expect_error([&] { reader.studies(); }, {location_, "lost"});
  int asked = 0;
  store.while_waiting([&] {
    if (++asked == 3) server().start();
  });
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(store.finish(*second, {sample_member()}));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_GE(asked, 3);
  // Once that it is gone, once that it is back.
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  EXPECT_NE(said.find("waiting"), std::string::npos) << said;
  EXPECT_EQ(reader.progress(study).done, 2U);
  EXPECT_EQ(reader.totals(study).members, 2U);
}

TEST_F(PostgresStore, WhoeverAsksEndsTheWait) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  server().stop();
  struct Enough {};
  store.while_waiting([] { throw Enough(); });
  EXPECT_THROW(store.progress(study), Enough);
  server().start();
  EXPECT_EQ(store.progress(study).units, 1U);
}

TEST_F(PostgresStore, ALostAnswerToCommitIsNoSecondWrite) {
  Proxy proxy(server().port());
  location_ = server().url("postgres", proxy.port());
  for (const auto how : {Proxy::Cut::before_commit, Proxy::Cut::after_commit}) {
    SCOPED_TRACE(static_cast<int>(how));
    server().clear();
    Store store = write();
    const std::int64_t study = plan(store, 3);
    const auto cut = [&] { proxy.cut(how); };
    cut();
    const auto lease = store.lease(study, this_owner(), 60);
    EXPECT_TRUE(proxy.has_cut());
    ASSERT_TRUE(lease.has_value());
    EXPECT_EQ(lease->unit.key, "unit/0");
    EXPECT_EQ(store.progress(study).leased, 1U);
    cut();
    EXPECT_TRUE(store.renew(*lease, 60));
    cut();
    EXPECT_TRUE(store.finish(*lease, {sample_member()}));
    EXPECT_TRUE(proxy.has_cut());
    EXPECT_FALSE(store.finish(*lease, {sample_member()}));
    cut();
    Task more = sample_task(study, "more");
    more = store.ensure_task(more);
    cut();
    store.add_units(study, {sample_unit(more.id, "more")});
    const Progress progress = store.progress(study);
    EXPECT_EQ(progress.done, 1U);
    EXPECT_EQ(progress.units, 4U);
    EXPECT_EQ(progress.tasks, 2U);
    EXPECT_EQ(progress.members, 1U);
    EXPECT_EQ(store.totals(study).members, 1U);
    cut();
    EXPECT_EQ(store.studies().size(), 1U);
    cut();
    EXPECT_TRUE(store.remove_study(study, true));
    cut();
    plan(store, 1);
    EXPECT_EQ(store.studies().size(), 1U);
  }
}

TEST_F(PostgresStore, AMergeWhoseAnswerWasLostSaysWhatItAdded) {
  Proxy proxy(server().port());
  {
    Store there = Store::open(path_, Store::Mode::write);
    const std::int64_t study = plan(there, 2);
    finish_unit(there, study, there.units(study)[0], {sample_member()});
  }
  location_ = server().url("postgres", proxy.port());
  Store store = write();
  proxy.cut(Proxy::Cut::after_commit);
  const Merged merged = store.merge(path_);
  EXPECT_TRUE(proxy.has_cut());
  EXPECT_EQ(merged.studies, 1U);
  EXPECT_EQ(merged.units, 1U);
  EXPECT_EQ(merged.members, 1U);
}

TEST_F(PostgresStore, AReplacedStoreIsNotWrittenTo) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  const auto lease = store.lease(study, this_owner(), 60);
  server().clear();
  {
    Store other = write();
    plan(other, 1);
  }
  expect_error([&] { store.finish(*lease, {sample_member()}); }, {location_, "replaced"});
  EXPECT_EQ(number("SELECT count(*) FROM tandem.member"), "0");
}

// ---- A pooler -----------------------------------------------------------------------------------

TEST_F(PostgresStore, APoolerInTransactionMode) {
  const std::string missing = Pgbouncer::missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  Pgbouncer pooler(server());
  location_ = pooler.url();
  Store first = write();
  Store second = write();
  const std::int64_t study = plan(first, 30);
  int turn = 0;
  while (true) {
    Store& store = ++turn % 2 == 0 ? first : second;
    if (turn == 20) {
      pooler.stop();
      pooler.start();
    }
    const auto lease = store.lease(study, this_owner(), 60);
    if (!lease) break;
    store.tell(study, {.owner = this_owner(), .doing = lease->unit.key});
    EXPECT_TRUE(store.finish(*lease, {sample_member(lease->unit.key)}));
  }
  EXPECT_EQ(first.progress(study).done, 30U);
  EXPECT_EQ(read().members(first.tasks(study)[0].id, Curves::all).size(), 30U);
  pooler.stop();
  expect_error([&] { read(); }, {location_, "cannot connect"});
}

}  // namespace
}  // namespace tandem::store
