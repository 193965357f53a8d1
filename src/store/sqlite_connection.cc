// SPDX-License-Identifier: MIT
#include "store/sqlite_connection.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "base/token.h"
#include "store/schema.h"
#include "store/sqlite_schema.h"

namespace tandem::store {
namespace {

namespace fs = std::filesystem;

// A transaction lasts milliseconds; only a stopped process or a checkpoint of a huge log on a slow
// disk keeps others waiting for so long.
constexpr std::chrono::seconds kPatience{60};

bool busy(const SQLite::Exception& error) {
  return error.getErrorCode() == SQLITE_BUSY || error.getErrorCode() == SQLITE_LOCKED;
}

/// What SQLite would tell with less words, or accept.
void check_path(const fs::path& path, Store::Mode mode) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    throw StoreError(
        fmt::format("{}: found a folder, expected the file of a store", path.string()));
  }
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) {
      throw StoreError(
          fmt::format("{}: not a regular file, expected the file of a store", path.string()));
    }
    return;
  }
  if (mode == Store::Mode::read) {
    throw NoStore(fmt::format(
        "{}: no such store; `tandem study` writes one, --store says where it is", path.string()));
  }
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder, error)) {
    throw StoreError(
        fmt::format("{}: cannot make the store: {} is not a folder", path.string(),
                    path.has_parent_path() ? path.parent_path().string() : folder.string()));
  }
}

/// On a medium that cannot be written SQLite cannot make the files that a reader of a WAL database
/// shares with writers. There are no writers there, and unless one died the log is empty: then the
/// file can be read as it is.
std::unique_ptr<SQLite::Database> open_immutable(const fs::path& absolute) {
  std::error_code error;
  const auto log = fs::file_size(absolute.string() + "-wal", error);
  if (!error && log > 0) return nullptr;
  std::string uri = "file:";
  for (const char c : absolute.string()) {
    const bool plain = c == '/' || c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') ||
                       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  uri += "?immutable=1";
  auto database = std::make_unique<SQLite::Database>(uri, SQLite::OPEN_READONLY | SQLite::OPEN_URI);
  database->execAndGet("SELECT count(*) FROM sqlite_schema").getInt();
  return database;
}

std::unique_ptr<SQLite::Database> open_file(const fs::path& path, Store::Mode mode) {
  // The absolute name, for SQLite gives names like ":memory:" and "file:..." a meaning.
  const fs::path absolute = fs::absolute(path);
  // Without locks against other threads: a connection is for one.
  const int flags = SQLite::OPEN_NOMUTEX |
                    (mode == Store::Mode::read ? SQLite::OPEN_READONLY
                                               : SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const int patience = static_cast<int>(std::chrono::milliseconds(kPatience).count());
  try {
    auto database = std::make_unique<SQLite::Database>(absolute.string(), flags, patience);
    database->execAndGet("SELECT count(*) FROM sqlite_schema").getInt();  // opens it indeed
    return database;
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    if (mode == Store::Mode::read && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)) {
      if (auto database = open_immutable(absolute)) return database;
    }
    throw;
  }
}

/// The version of a store's tables; 0 for an empty file. Throws for files that are not ours.
int check_kind(SQLite::Database& database, const fs::path& path) {
  const int id = database.execAndGet("PRAGMA application_id").getInt();
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  if (id != kApplicationId) {
    const bool empty = database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
    if (id == 0 && version == 0 && empty) return 0;
    throw StoreError(
        fmt::format("{}: found an SQLite file of another program (application id {}), expected a "
                    "store of Tandem",
                    path.string(), id));
  }
  if (version > kSchemaVersion) {
    throw StoreError(fmt::format(
        "{}: the store has version {}, this program knows versions up to {}: it was written by a "
        "newer Tandem; use that, or another --store",
        path.string(), version, kSchemaVersion));
  }
  if (version < 1) {
    throw StoreError(
        fmt::format("{}: found a store of version {}, expected 1 or more: the store is damaged",
                    path.string(), version));
  }
  return version;
}

/// Likewise, as of one moment: another process may be making the store.
int check_kind_now(SQLite::Database& database, const fs::path& path) {
  SQLite::Transaction moment(database);
  const int version = check_kind(database, path);
  moment.commit();
  return version;
}

std::unique_ptr<SQLite::Database> copy_in_memory(SQLite::Database& database) {
  auto copy =
      std::make_unique<SQLite::Database>(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Backup(*copy, database).executeStep(-1);
  return copy;
}

std::unique_ptr<SQLite::Database> open_store(const fs::path& path, Store::Mode mode, bool& copy) {
  auto database = open_file(path, mode);
  if (mode == Store::Mode::read) {
    const int version = check_kind_now(*database, path);
    if (version == 0) {
      throw StoreError(fmt::format("{}: found an empty file, expected a store", path.string()));
    }
    if (version < kSchemaVersion) {
      database = copy_in_memory(*database);
      copy = true;
      migrate(*database, version);
    }
    return database;
  }
  check_kind_now(*database, path);  // before anything is changed
  if (database->execAndGet("PRAGMA journal_mode").getString() != "wal") {
    database->execAndGet("PRAGMA journal_mode = WAL").getString();
  }
  database->exec("PRAGMA synchronous = FULL");
  // Another process may be as far as this: who is first does it, the other one sees that.
  if (check_kind_now(*database, path) < kSchemaVersion) {
    SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
    const int version = check_kind(*database, path);
    if (version < kSchemaVersion) migrate(*database, version);
    transaction.commit();
  }
  database->exec("PRAGMA foreign_keys = ON");  // a migration needs them off
  // Plans of a hundred thousand units do not fit into SQLite's two megabytes.
  database->exec("PRAGMA cache_size = -65536");  // KiB, taken when needed
  return database;
}

}  // namespace

StoreError explain(const fs::path& path, const SQLite::Exception& error) {
  const std::string file = path.string();
  const std::string detail = error.what();
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
      return StoreError(fmt::format(
          "{}: not a store ({}); is it another file, or was its start overwritten?", file, detail));
    case SQLITE_CORRUPT:
      return StoreError(
          fmt::format("{}: the store is damaged ({}); put a copy of it back, or move it away and "
                      "give the same command again, which starts anew",
                      file, detail));
    case SQLITE_FULL:
      return StoreError(
          fmt::format("{}: the disk is full ({}); what was stored before is safe: make room and "
                      "give the same command again",
                      file, detail));
    case SQLITE_IOERR:
      return StoreError(
          fmt::format("{}: cannot read or write ({}): the disk is full, a limit on file sizes was "
                      "met, or it fails; what was stored before is safe",
                      file, detail));
    case SQLITE_READONLY:
      return StoreError(fmt::format(
          "{}: the store or its folder is read-only ({}); allow writing, or use another --store",
          file, detail));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return StoreError(
          fmt::format("{}: cannot be opened ({}); it and its folder must be readable, and to "
                      "change it, writable",
                      file, detail));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return StoreError(
          fmt::format("{}: another process has been writing for more than {} s ({}); is one "
                      "stopped?",
                      file, kPatience.count(), detail));
    default:
      return StoreError(
          fmt::format("{}: {} (SQLite's error {})", file, detail, error.getExtendedErrorCode()));
  }
}

// ---- Statements ---------------------------------------------------------------------------------

namespace {

template <typename Work>
auto explained(const fs::path& path, const Work& work) {
  try {
    return work();
  } catch (const SQLite::Exception& error) {
    throw explain(path, error);
  }
}

/// A statement in SQLite's words: it has no schemas, and a transaction that writes has the whole
/// file to itself.
std::string in_sqlite(std::string_view sql) {
  std::string text(sql.substr(0, sql.find(" FOR ")));
  for (std::size_t at = text.find("tandem."); at != std::string::npos; at = text.find("tandem.")) {
    text.erase(at, std::string_view("tandem.").size());
  }
  std::replace(text.begin(), text.end(), '$', '?');
  return text;
}

void seconds_since_1970(sqlite3_context* context, int /*count*/, sqlite3_value** /*arguments*/) {
  sqlite3_result_int64(context, std::chrono::duration_cast<std::chrono::seconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count());
}

}  // namespace

class SqliteConnection::Prepared final : public Statement {
 public:
  Prepared(SQLite::Database& database, const fs::path& path, const std::string& sql)
      : path_(path), statement_(database, sql) {}

  void bind(int index, const Value& value) override {
    explained(path_, [&] {
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        statement_.bind(index, *integer);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        statement_.bind(index, *text);
      } else if (const auto& number = std::get<std::optional<double>>(value)) {
        statement_.bind(index, *number);
      } else {
        statement_.bind(index);
      }
    });
  }
  bool step() override {
    return explained(path_, [&] { return statement_.executeStep(); });
  }
  int run() override {
    return explained(path_, [&] { return statement_.exec(); });
  }
  std::int64_t integer(int column) const override {
    return explained(path_, [&] { return statement_.getColumn(column).getInt64(); });
  }
  double number(int column) const override {
    return explained(path_, [&] {
      const SQLite::Column value = statement_.getColumn(column);
      const double number = value.getDouble();
      // NULL reads as 0, so that most numbers need not be asked.
      return number == 0 && value.isNull() ? std::numeric_limits<double>::quiet_NaN() : number;
    });
  }
  std::string text(int column) const override {
    return explained(path_, [&] { return statement_.getColumn(column).getString(); });
  }
  bool null(int column) const override {
    return explained(path_, [&] { return statement_.isColumnNull(column); });
  }
  void reset() noexcept override { statement_.tryReset(); }

 private:
  const fs::path& path_;
  // Reading a column changes nothing, but SQLiteCpp says otherwise.
  mutable SQLite::Statement statement_;
};

Statement& SqliteConnection::prepare(std::string_view sql) {
  auto place = statements_.find(sql);
  if (place == statements_.end()) {
    auto statement = explained(
        path_, [&] { return std::make_unique<Prepared>(*database_, path_, in_sqlite(sql)); });
    place = statements_.emplace(sql, std::move(statement)).first;
  }
  place->second->reset();
  return *place->second;
}

std::size_t SqliteConnection::insert(const Rows& rows, const std::string& unless_there) {
  std::string marks;
  for (std::size_t i = 1; i <= rows.columns().size(); ++i) {
    marks += fmt::format("{}${}", i > 1 ? ", " : "", i);
  }
  Statement& statement = prepare(fmt::format(
      "INSERT INTO tandem.{} ({}) VALUES ({}){}", rows.table(), fmt::join(rows.columns(), ", "),
      marks,
      unless_there.empty() ? "" : fmt::format(" ON CONFLICT ({}) DO NOTHING", unless_there)));
  std::size_t added = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    statement.reset();
    for (std::size_t column = 0; column < rows.columns().size(); ++column) {
      statement.bind(static_cast<int>(column) + 1, rows.at(row, column));
    }
    added += static_cast<std::size_t>(statement.run());
  }
  statement.reset();
  return added;
}

// ---- The connection -----------------------------------------------------------------------------

SqliteConnection::SqliteConnection(fs::path path, Store::Mode mode)
    : path_(std::move(path)), mode_(mode) {
  check_path(path_, mode_);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    try {
      explained(path_, [&] {
        try {
          database_ = open_store(path_, mode_, copy_);
        } catch (const SQLite::Exception& error) {
          // Changing to WAL and recovering a dead process's log do not wait for others by
          // themselves.
          if (!busy(error) || std::chrono::steady_clock::now() > end) throw;
        }
      });
    } catch (const std::filesystem::filesystem_error& error) {
      throw StoreError(fmt::format("{}: {}", path_.string(), error.what()));
    }
    if (database_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  sqlite3_create_function(database_->getHandle(), "now", 0, SQLITE_UTF8, nullptr,
                          &seconds_since_1970, nullptr, nullptr);
}

SqliteConnection::~SqliteConnection() {
  if (mode_ == Store::Mode::read || database_ == nullptr || !moved()) return;
  // The last one to close a store removes its log, by name: where the name is another store's by
  // now, that one would lose what it has committed.
  int yes = 1;
  sqlite3_file_control(database_->getHandle(), "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
}

std::string SqliteConnection::identity() {
  std::error_code error;
  const fs::path file = fs::canonical(path_, error);
  return "file " + (error ? path_ : file).string();
}

bool SqliteConnection::moved() const {
  int moved = 0;
  const int error =
      sqlite3_file_control(database_->getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return error == SQLITE_OK && moved != 0;
}

void SqliteConnection::begin_reading() {
  explained(path_, [&] { database_->exec("BEGIN"); });
}

/// With the right to write from its start, so that two processes wait for each other instead of
/// failing half-way.
void SqliteConnection::begin_writing(Durability durability) {
  if (moved()) {
    throw StoreMoved(fmt::format(
        "{}: the store was removed, moved or replaced while this process used it", path_.string()));
  }
  explained(path_, [&] {
    if (durability != durability_) {
      database_->exec(durability == Durability::survives_kill ? "PRAGMA synchronous = NORMAL"
                                                              : "PRAGMA synchronous = FULL");
      durability_ = durability;
    }
    database_->exec("BEGIN IMMEDIATE");
  });
}

void SqliteConnection::commit() {
  explained(path_, [&] { database_->exec("COMMIT"); });
}

void SqliteConnection::rollback() noexcept { database_->tryExec("ROLLBACK"); }

fs::path SqliteConnection::rescue() {
  // Beside the place where it was, if that folder is there still.
  for (const fs::path& folder : {fs::absolute(path_).parent_path(), fs::temp_directory_path()}) {
    fs::path file = folder / path_.filename();
    file += ".rescued-" + random_token().substr(0, 8);
    try {
      SQLite::Database saved(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      SQLite::Backup(saved, *database_).executeStep(-1);
      return file;
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_CANTOPEN) throw explain(file, error);
    }
  }
  throw StoreError(
      fmt::format("{}: what the store held cannot be saved: neither its folder nor the folder for "
                  "temporary files can be written to",
                  path_.string()));
}

}  // namespace tandem::store
