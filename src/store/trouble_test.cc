// SPDX-License-Identifier: MIT
// Stores that cannot be used: old, new, damaged, read-only, on a full disk. All give an error that
// names the file, none a crash.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/impl.h"
#include "store/schema.h"
#include "store/sqlite_connection.h"
#include "store/test_store.h"

namespace tandem::store {
namespace {

namespace fs = std::filesystem;

using Trouble = StoreTest;

// ---- Versions -----------------------------------------------------------------------------------

// What version 1 wrote, kept here as it was.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE study (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, text TEXT NOT NULL,
  fingerprint TEXT NOT NULL, version TEXT NOT NULL, target TEXT NOT NULL, machine TEXT NOT NULL,
  command TEXT NOT NULL, created INTEGER NOT NULL, pruned INTEGER NOT NULL,
  epochs INTEGER NOT NULL, tune_seed INTEGER NOT NULL, seeds TEXT NOT NULL);
CREATE TABLE task (id INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE, key TEXT NOT NULL,
  data TEXT NOT NULL, model TEXT NOT NULL, lambda NOT NULL, batch INTEGER NOT NULL,
  samples INTEGER NOT NULL, dimension INTEGER NOT NULL, data_hash TEXT NOT NULL,
  facts TEXT NOT NULL, optimum, UNIQUE (study_id, key));
CREATE TABLE unit (id INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
  task_id INTEGER NOT NULL REFERENCES task ON DELETE CASCADE, key TEXT NOT NULL,
  place INTEGER NOT NULL, optimizer TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('tune', 'measure')), seed INTEGER NOT NULL,
  members TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0, owner TEXT, lease_end INTEGER,
  UNIQUE (study_id, key));
CREATE INDEX unit_of_task ON unit (task_id, place, key);
CREATE INDEX unit_to_do ON unit (study_id, place, key) WHERE done = 0;
CREATE TABLE member (id INTEGER PRIMARY KEY,
  unit_id INTEGER NOT NULL REFERENCES unit ON DELETE CASCADE, place INTEGER NOT NULL,
  optimizer TEXT NOT NULL, method TEXT NOT NULL, baseline INTEGER NOT NULL, options TEXT NOT NULL,
  seed INTEGER NOT NULL, phase TEXT NOT NULL CHECK (phase IN ('tune', 'measure')),
  diverged INTEGER NOT NULL, diverged_at INTEGER NOT NULL, state_bytes INTEGER NOT NULL,
  UNIQUE (unit_id, place));
CREATE TABLE point (member_id INTEGER NOT NULL REFERENCES member ON DELETE CASCADE,
  place INTEGER NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
  gradient_evaluations INTEGER NOT NULL, seconds, train_loss, validation_loss,
  validation_accuracy, estimator_error, batch_error, delta, distance,
  PRIMARY KEY (member_id, place)) WITHOUT ROWID;
PRAGMA application_id = 0x546e646d;
PRAGMA user_version = 1;
INSERT INTO study VALUES (1, 'old', 'text', 'f', '0.1', 'AVX2', 'm', 'c', 5, 0, 2, 0, '[1]');
INSERT INTO task VALUES (1, 1, 'k', 'd', 'logistic', 0.5, 64, 10, 4, 'h', '{}', NULL);
INSERT INTO unit VALUES (1, 1, 1, 'u', 0, 'adam', 'tune', 7, '[]', 1, 'me', NULL);
INSERT INTO unit VALUES (2, 1, 1, 'v', 1, 'adam', 'tune', 7, '[]', 0, NULL, NULL);
INSERT INTO member VALUES (1, 1, 0, 'adam', 'adam', 1, '{"lr":"0.1"}', 7, 'tune', 0, 0, 16);
INSERT INTO point VALUES (1, 0, 0, 0, 0, 0.0, 0.5, NULL, NULL, NULL, NULL, NULL, NULL);
)sql";

int version_of(const fs::path& path) {
  return SQLite::Database(path.string()).execAndGet("PRAGMA user_version").getInt();
}

/// Names and types of all columns.
std::vector<std::string> columns_of(const fs::path& path) {
  SQLite::Database database(path.string());
  SQLite::Statement query(database,
                          "SELECT s.name, c.name, c.type, c.\"notnull\" FROM sqlite_schema s, "
                          "pragma_table_info(s.name) c ORDER BY s.name, c.cid");
  std::vector<std::string> columns;
  while (query.executeStep()) {
    std::string line;
    for (int i = 0; i < 4; ++i) line += query.getColumn(i).getString() + " ";
    columns.push_back(line);
  }
  return columns;
}

class Versions : public StoreTest {
 protected:
  void write_version_1() const {
    SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(kVersion1);
  }
  static void expect_old_rows(const Store& store) {
    const auto members = store.members(store.tasks(store.studies().at(0).id).at(0).id, Curves::all);
    ASSERT_EQ(members.size(), 1U);
    EXPECT_EQ(members[0].options.at("lr"), "0.1");
    EXPECT_FALSE(members[0].pruned);
    EXPECT_EQ(members[0].points.at(0).train_loss, 0.5);
  }
};

TEST_F(Versions, AnOlderStoreIsBroughtUpToDate) {
  write_version_1();
  {
    Store store = write();
    expect_old_rows(store);
    MemberRow member = sample_member();
    member.pruned = true;
    const auto unit = store.lease(1, "me", 60);
    EXPECT_TRUE(store.finish(*unit, {member}));
    EXPECT_TRUE(store.members(1, Curves::none).at(1).pruned);
  }
  EXPECT_EQ(version_of(path_), kSchemaVersion);
  expect_whole();
  const fs::path fresh = folder_ / "fresh.db";
  Store::open(fresh, Store::Mode::write);
  EXPECT_EQ(columns_of(path_), columns_of(fresh));
}

TEST_F(Versions, ReadingAnOlderStoreLeavesItAsItIs) {
  write_version_1();
  expect_old_rows(read());
  EXPECT_EQ(version_of(path_), 1);
}

TEST_F(Versions, MergesAnOlderStore) {
  write_version_1();
  Store store = Store::open(folder_ / "new.db", Store::Mode::write);
  EXPECT_EQ(store.merge(path_).members, 1U);
  expect_old_rows(store);
  EXPECT_EQ(version_of(path_), 1);
}

TEST_F(Versions, ANewerStoreIsRefusedAndLeftAsItIs) {
  { write(); }
  const int newer = kSchemaVersion + 7;
  SQLite::Database(path_.string(), SQLite::OPEN_READWRITE)
      .exec("PRAGMA user_version = " + std::to_string(newer));
  for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
    expect_error([&] { Store::open(path_, mode); },
                 {path_.string(), "version " + std::to_string(newer),
                  "up to " + std::to_string(kSchemaVersion), "newer Tandem"});
  }
  EXPECT_EQ(version_of(path_), newer);
}

TEST_F(Versions, AStoreIsInWalModeAndDurable) {
  { write(); }
  SQLite::Database database(path_.string());
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "wal");
  SqliteConnection connection(path_, Store::Mode::write);
  EXPECT_EQ(connection.database().execAndGet("PRAGMA synchronous").getInt(), 2);  // FULL
  EXPECT_EQ(connection.database().execAndGet("PRAGMA foreign_keys").getInt(), 1);
}

// ---- What is not a store ------------------------------------------------------------------------

TEST_F(Trouble, NothingThere) {
  expect_error([&] { read(); }, {path_.string(), "no such store"});
  EXPECT_FALSE(fs::exists(path_));
  const fs::path deep = folder_ / "none" / "runs.db";
  expect_error([&] { Store::open(deep, Store::Mode::write); },
               {deep.string(), (folder_ / "none").string(), "not a folder"});
}

TEST_F(Trouble, AFolderOrAFileInTheWrongPlace) {
  for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
    expect_error([&] { Store::open(folder_, mode); }, {folder_.string(), "found a folder"});
    expect_error([&] { Store::open("/dev/null", mode); }, {"/dev/null", "not a regular file"});
  }
  std::ofstream(folder_ / "file") << "text";
  const fs::path below = folder_ / "file" / "runs.db";
  expect_error([&] { Store::open(below, Store::Mode::write); },
               {below.string(), (folder_ / "file").string(), "not a folder"});
  expect_error([&] { Store::open(below, Store::Mode::read); }, {below.string(), "no such store"});
}

TEST_F(Trouble, ATextFile) {
  const std::string text =
      "This is a text, and long enough to be looked at: " + std::string(2000, 'x');
  std::ofstream(path_) << text;
  for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
    expect_error([&] { Store::open(path_, mode); }, {path_.string(), "not a store"});
  }
  EXPECT_EQ(fs::file_size(path_), text.size());
}

TEST_F(Trouble, AnEmptyFile) {
  std::ofstream(path_).close();
  expect_error([&] { read(); }, {path_.string(), "empty"});
  Store store = write();  // as `mktemp` leaves it
  EXPECT_EQ(plan(store, 1), 1);
}

TEST_F(Trouble, AnotherProgramsFile) {
  SQLite::Database(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE things (a)");
  for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
    expect_error([&] { Store::open(path_, mode); }, {path_.string(), "another program"});
  }
  SQLite::Database database(path_.string());
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt(), 1);
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "delete");
}

TEST_F(Trouble, NamesThatSqliteGivesAMeaning) {
  fs::current_path(folder_);
  for (const std::string name : {":memory:", "file:x?mode=memory", "a%20b#c?d.db", "Ü 'q'.db"}) {
    {
      Store store = Store::open(name, Store::Mode::write);
      plan(store, 1);
    }
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
    EXPECT_EQ(Store::open(name, Store::Mode::read).studies().size(), 1U);
  }
  fs::current_path("/");
}

// ---- Damage -------------------------------------------------------------------------------------

class Damage : public StoreTest {
 protected:
  std::string make_store() {
    {
      Store store = write();
      const std::int64_t study = plan(store, 20);
      while (const auto unit = store.lease(study, "me", 60)) {
        store.finish(*unit, std::vector<MemberRow>(5, sample_member("0.1", 21)));
      }
    }
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  void put(const std::string& bytes) const {
    for (const char* end : {"-wal", "-shm"}) fs::remove(path_.string() + end);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  /// Uses all of a store; whether it noticed the damage.
  bool noticed(Store::Mode mode) const {
    try {
      Store store = Store::open(path_, mode);
      for (const Study& study : store.studies()) {
        store.progress(study.id);
        store.totals(study.id);
        store.units(study.id);
        for (const Task& task : store.tasks(study.id)) store.members(task.id, Curves::all);
      }
      if (mode == Store::Mode::write) {
        const std::int64_t id = plan(store, 30);
        while (const auto unit = store.lease(id, "me", 60)) {
          if (!store.finish(*unit, {sample_member()})) break;
        }
        store.remove_study(id, true);
      }
      return false;
    } catch (const StoreError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(path_.string()), std::string::npos) << message;
      return true;
    }
  }
};

TEST_F(Damage, RandomBytesAreNoticedOrHarmless) {
  const std::string good = make_store();
  std::mt19937_64 random(3);
  std::size_t found = 0;
  constexpr std::size_t kPage = 4096;
  for (int round = 0; round < 60; ++round) {
    std::string bad = good;
    const std::size_t page = random() % (good.size() / kPage);
    const std::size_t length = round % 2 == 0 ? kPage : 1 + random() % 200;
    const std::size_t offset = page * kPage + (length < kPage ? random() % (kPage - length) : 0);
    for (std::size_t i = 0; i < length; ++i) bad[offset + i] = static_cast<char>(random());
    for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
      put(bad);
      found += noticed(mode) ? 1 : 0;
    }
  }
  // Whole pages of noise cannot pass; a few bytes within a loss can.
  EXPECT_GT(found, 40U);
}

TEST_F(Damage, ATruncatedStoreIsNoticed) {
  const std::string good = make_store();
  ASSERT_GT(good.size(), 100'000U);
  for (const std::size_t size : {good.size() / 2, good.size() - 4096, std::size_t{5000},
                                 std::size_t{4096}, std::size_t{100}, std::size_t{17}}) {
    for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
      put(good.substr(0, size));
      EXPECT_TRUE(noticed(mode)) << size;
    }
  }
}

TEST_F(Damage, SaysWhatToDo) {
  std::string bad = make_store();
  std::memset(bad.data() + 4096, 0x5a, bad.size() - 4096);
  put(bad);
  expect_error([&] { read().studies(); }, {path_.string(), "damaged", "a copy"});
}

TEST_F(Damage, OptionsThatAreNoJson) {
  make_store();
  SQLite::Database(path_.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE member SET options = '{\"lr\": ' WHERE id = 7");
  expect_error([&] { read().members(1, Curves::all); }, {path_.string(), "JSON", "damaged"});
}

// ---- No room, no right --------------------------------------------------------------------------

TEST_F(Trouble, AFullDisk) {
  // What SQLite makes of ENOSPC.
  SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA max_page_count = 3; CREATE TABLE t (a)");
  try {
    database.exec("INSERT INTO t VALUES (zeroblob(100000))");
    ADD_FAILURE() << "no error";
  } catch (const SQLite::Exception& error) {
    const std::string message = explain(path_, error).what();
    EXPECT_NE(message.find(path_.string()), std::string::npos) << message;
    EXPECT_NE(message.find("the disk is full"), std::string::npos) << message;
    EXPECT_NE(message.find("same command"), std::string::npos) << message;
  }
}

/// A store of ours, and SQLite's end of it.
struct Opened {
  explicit Opened(const fs::path& path)
      : Opened(std::make_unique<SqliteConnection>(path, kWrite)) {}
  SQLite::Database& database;
  Store store;

 private:
  static constexpr auto kWrite = Store::Mode::write;
  explicit Opened(std::unique_ptr<SqliteConnection> connection)
      : database(connection->database()),
        store(std::make_unique<Store::Impl>(std::move(connection), kWrite)) {}
};

TEST_F(Trouble, AFullStoreGoesOnWhenThereIsRoomAgain) {
  Opened opened(path_);
  Store& store = opened.store;
  const auto limit = [&](int pages) {
    opened.database.execAndGet("PRAGMA max_page_count = " + std::to_string(pages)).getInt();
  };
  const std::int64_t study = plan(store, 1);
  const auto lease = store.lease(study, "me", 60);
  limit(opened.database.execAndGet("PRAGMA page_count").getInt() + 2);
  const std::vector<MemberRow> members(100, sample_member("0.1", 21));
  expect_error([&] { store.finish(*lease, members); }, {path_.string(), "the disk is full"});
  limit(1 << 30);
  EXPECT_FALSE(store.units(study).at(0).done);
  EXPECT_TRUE(store.finish(*lease, members));
  EXPECT_TRUE(store.units(study).at(0).done);
  expect_whole();
}

/// What SQLite did for each of so many units that were added, leased, finished and counted.
double steps_a_unit(const fs::path& path, std::size_t units) {
  Opened opened(path);
  Store& store = opened.store;
  const auto steps = [&] {
    std::int64_t sum = 0;
    sqlite3_stmt* statement = nullptr;
    while ((statement = sqlite3_next_stmt(opened.database.getHandle(), statement)) != nullptr) {
      sum += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    }
    return sum;
  };
  const std::int64_t study = plan(store, units);
  while (const auto lease = store.lease(study, this_owner(), 60)) {
    store.finish(*lease, {sample_member()});
    store.progress(study);
    store.is_tuned(lease->unit.task_id, "adam");
  }
  EXPECT_EQ(store.progress(study).done, units);
  return static_cast<double>(steps()) / static_cast<double>(units);
}

TEST_F(Trouble, AUnitCostsTheSameInASmallAndInALargeStudy) {
  const double few = steps_a_unit(folder_ / "few.db", 50);
  const double many = steps_a_unit(folder_ / "many.db", 1000);
  EXPECT_LT(many, 1.2 * few);
}

TEST_F(Trouble, ALimitOnFileSizes) {
  // In a process of its own, for the limit is a process's.
  const pid_t pid = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    Store store = write();
    const std::int64_t study = plan(store, 2);
    const std::vector<MemberRow> members(200, sample_member("0.1", 21));
    const auto unit = store.lease(study, "me", 60);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit tight = before;
    tight.rlim_cur = 200'000;
    setrlimit(RLIMIT_FSIZE, &tight);
    bool good = false;
    try {
      store.finish(*unit, members);
    } catch (const StoreError& error) {
      const std::string message = error.what();
      good = message.find(path_.string()) != std::string::npos &&
             message.find("limit on file sizes") != std::string::npos;
      if (!good) fprintf(stderr, "%s\n", error.what());
    }
    if (!good || store.totals(study).members != 0) return 1;
    setrlimit(RLIMIT_FSIZE, &before);
    return store.finish(*unit, members) && store.totals(study).members == 200 ? 0 : 2;
  });
  EXPECT_EQ(exit_code_of(pid), 0);
  expect_whole();
}

/// Without the rights of root, which nothing stops.
int as_nobody(const std::function<int()>& work) {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 98;
  return work();
}

TEST_F(Trouble, AReadOnlyFolder) {
  {
    Store store = write();
    plan(store, 2);
  }
  fs::permissions(path_, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  const pid_t pid = in_child([&] {
    return as_nobody([&] {
      // Reading needs no right to write.
      if (read().studies().size() != 1) return 1;
      const std::vector<std::pair<fs::path, std::string>> cases = {
          {path_, "read-only"}, {folder_ / "new.db", "cannot be opened"}};
      for (const auto& [path, part] : cases) {
        try {
          Store store = Store::open(path, Store::Mode::write);
          plan(store, 3);
          return 2;
        } catch (const StoreError& error) {
          const std::string message = error.what();
          if (message.find(path.string()) == std::string::npos ||
              message.find(part) == std::string::npos) {
            fprintf(stderr, "%s\n", error.what());
            return 3;
          }
        }
      }
      return 0;
    });
  });
  const int code = exit_code_of(pid);
  fs::permissions(folder_, fs::perms(0755));
  if (code == 98) GTEST_SKIP() << "cannot give up the rights of root";
  EXPECT_EQ(code, 0);
}

TEST_F(Trouble, AFileThatMayNotBeRead) {
  { write(); }
  fs::permissions(path_, fs::perms::none);
  fs::permissions(folder_, fs::perms(0755));
  const pid_t pid = in_child([&] {
    return as_nobody([&] {
      try {
        read();
        return 1;
      } catch (const StoreError& error) {
        return std::string(error.what()).find("cannot be opened") != std::string::npos ? 0 : 2;
      }
    });
  });
  const int code = exit_code_of(pid);
  if (code == 98) GTEST_SKIP() << "cannot give up the rights of root";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace tandem::store
