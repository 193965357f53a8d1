// SPDX-License-Identifier: MIT
#include "store/postgres_connection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "store/postgres_schema.h"
#include "store/postgres_values.h"
#include "store/schema.h"

namespace tandem::store {
namespace {

using std::chrono::steady_clock;

// For as long as this a process that writes waits for its server to come back; who only reads asks
// again by himself.
constexpr std::chrono::hours kPatienceOfWriters{1};
constexpr std::chrono::seconds kPatienceOfReaders{2};
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5000};
// How often in a row a transaction is tried.
constexpr int kMostTries = 30;
constexpr int kOldestServer = 130000;

/// A message of several lines, the last one empty, as one line.
std::string one_line(const char* message) {
  std::string line;
  for (std::string_view rest = message == nullptr ? "" : message; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view part = rest.substr(0, end);
    const std::size_t begin = part.find_first_not_of(" \t");
    if (begin != std::string_view::npos) {
      line += (line.empty() ? "" : "; ") + std::string(part.substr(begin));
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return line;
}

std::string_view field(const Libpq::Result* result, int which) {
  const char* text = result == nullptr ? nullptr : libpq().result_field(result, which);
  return text == nullptr ? std::string_view() : text;
}

/// Whether it says that the session is over, or that there is none.
bool ends_session(std::string_view state, std::string_view severity) {
  return severity == "FATAL" || severity == "PANIC" || state.starts_with("08") ||
         state.starts_with("57P0");
}

/// Whether another process was in the way: two that wait for each other, or who adds what another
/// one just added.
bool is_conflict(std::string_view state) {
  return state == "40001" || state == "40P01" || state == "23505" || state == "55P03";
}

void say(const std::string& news) {
  // A terminal may show how far the work is, in a line that has no end yet.
  const bool after_bar = isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%standem: %s\n", after_bar ? "\n" : "", visible(news).c_str());
}

}  // namespace

/// A statement and the rows that it gave, all of which are here.
class PostgresConnection::Sent final : public Statement {
 public:
  Sent(PostgresConnection& connection, std::string sql)
      : connection_(connection), sql_(std::move(sql)) {}

  void bind(int index, const Value& value) override {
    values_.resize(std::max(values_.size(), static_cast<std::size_t>(index)));
    values_[static_cast<std::size_t>(index) - 1] = value;
  }
  bool step() override {
    if (result_ == nullptr) result_ = connection_.execute(sql_, values_);
    return ++row_ < libpq().rows(result_.get());
  }
  int run() override {
    const Result result = connection_.execute(sql_, values_);
    const std::string_view text = libpq().changed(result.get());
    int changed = 0;
    std::from_chars(text.data(), text.data() + text.size(), changed);
    return changed;
  }
  std::int64_t integer(int column) const override {
    return null(column) ? 0 : decode_integer(libpq().type(result_.get(), column), bytes(column));
  }
  double number(int column) const override {
    if (null(column)) return std::numeric_limits<double>::quiet_NaN();
    return decode_number(libpq().type(result_.get(), column), bytes(column));
  }
  std::string text(int column) const override { return from_postgres(bytes(column)); }
  bool null(int column) const override { return libpq().is_null(result_.get(), row_, column) != 0; }
  void reset() noexcept override {
    result_.reset();
    row_ = -1;
    values_.clear();
  }

 private:
  std::string_view bytes(int column) const {
    return {libpq().value(result_.get(), row_, column),
            static_cast<std::size_t>(libpq().length(result_.get(), row_, column))};
  }

  PostgresConnection& connection_;
  std::string sql_;
  std::vector<Value> values_;
  Result result_;
  int row_ = -1;
};

// ---- Statements ---------------------------------------------------------------------------------

Statement& PostgresConnection::prepare(std::string_view sql) {
  auto place = statements_.find(sql);
  if (place == statements_.end()) {
    place = statements_.emplace(sql, std::make_unique<Sent>(*this, std::string(sql))).first;
  }
  place->second->reset();
  return *place->second;
}

PostgresConnection::Result PostgresConnection::execute(std::string_view sql,
                                                       const std::vector<Value>& values) {
  std::vector<Encoded> encoded;
  encoded.reserve(values.size());
  for (const Value& value : values) encoded.push_back(encode(value));
  return send(std::string(sql), encoded);
}

template <typename Values>
PostgresConnection::Result PostgresConnection::send(const std::string& sql, const Values& encoded) {
  if (lost_) throw TryAgain(*this, url_ + ": the connection to the server was lost");
  std::vector<Libpq::Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Encoded& value : encoded) {
    types.push_back(value.type);
    values.push_back(value.null ? nullptr : value.bytes.data());
    lengths.push_back(static_cast<int>(value.bytes.size()));
    formats.push_back(1);
  }
  Result result(libpq().execute(connection_.get(), sql.c_str(), static_cast<int>(types.size()),
                                types.data(), values.data(), lengths.data(), formats.data(), 1));
  const int status = result == nullptr ? -1 : libpq().result_status(result.get());
  if (status != Libpq::kCommandOk && status != Libpq::kTuplesOk) fail(result.get());
  return result;
}

void PostgresConnection::fail(const Libpq::Result* result) {
  const std::string_view state = field(result, Libpq::kSqlState);
  const std::string detail = one_line(result == nullptr ? libpq().error_message(connection_.get())
                                                        : libpq().result_message(result));
  if (libpq().status(connection_.get()) != Libpq::kOk ||
      ends_session(state, field(result, Libpq::kSeverity))) {
    lost_ = true;
    throw TryAgain(*this, fmt::format("{}: the connection to the server was lost ({})", url_,
                                      detail.empty() ? "no reason given" : detail));
  }
  if (is_conflict(state)) {
    throw TryAgain(*this, fmt::format("{}: other processes are in the way ({})", url_, detail));
  }
  if (state == "42501") {
    throw StoreError(fmt::format(
        "{}: the role may not do this ({}); to read a store it needs USAGE of the schema tandem "
        "and "
        "SELECT on its tables, to write INSERT, UPDATE and DELETE too, and to make one CREATE in "
        "the database",
        url_, detail));
  }
  if (state == "25006" || state == "0A000") {
    throw StoreError(fmt::format(
        "{}: the server allows reading only ({}); is it a copy of another one?", url_, detail));
  }
  if (state == "53100") {
    throw StoreError(fmt::format(
        "{}: the server's disk is full ({}); what was stored before is safe: make room and give "
        "the same command again",
        url_, detail));
  }
  if (state == "42P01" || state == "42703" || state == "3F000" || state == "42883") {
    throw StoreError(
        fmt::format("{}: the store is damaged: its tables are not as they were made "
                    "({})",
                    url_, detail));
  }
  throw StoreError(fmt::format("{}: {} (PostgreSQL's error {})", url_, detail, state));
}

std::size_t PostgresConnection::insert(const Rows& rows, const std::string& unless_there) {
  if (rows.size() == 0) return 0;
  std::vector<Encoded> columns;
  std::string arrays;
  for (std::size_t column = 0; column < rows.columns().size(); ++column) {
    columns.push_back(encode_column(rows, column));
    arrays += fmt::format("{}${}::{}", column > 0 ? ", " : "", column + 1,
                          array_type(rows.at(0, column)));
  }
  const std::string conflict =
      unless_there.empty() ? "" : fmt::format(" ON CONFLICT ({}) DO NOTHING", unless_there);
  const Result result =
      send(fmt::format("INSERT INTO tandem.{} ({}) SELECT * FROM unnest({}){}", rows.table(),
                       fmt::join(rows.columns(), ", "), arrays, conflict),
           columns);
  const std::string_view text = libpq().changed(result.get());
  std::size_t added = 0;
  std::from_chars(text.data(), text.data() + text.size(), added);
  return added;
}

// ---- Transactions -------------------------------------------------------------------------------

void PostgresConnection::begin_reading() {
  execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
}

/// All that is written survives a crash of the server, which processes survive too.
void PostgresConnection::begin_writing(Durability /*durability*/) {
  execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  try {
    // Of this transaction alone. A process that was stopped in the middle of it keeps others
    // waiting for no longer than this.
    execute("SELECT set_config('idle_in_transaction_session_timeout', '20s', true)");
  } catch (const StoreError&) {
    rollback();
    throw;
  }
}

void PostgresConnection::commit() {
  const Result result = execute("COMMIT");
  // Where a statement failed COMMIT takes everything back, and says so.
  if (std::string_view(libpq().command_status(result.get())) != "COMMIT") {
    throw TryAgain(*this, url_ + ": the server took the transaction back");
  }
}

void PostgresConnection::rollback() noexcept {
  if (lost_ || libpq().transaction_status(connection_.get()) == Libpq::kIdle) return;
  try {
    execute("ROLLBACK");
  } catch (const StoreError&) {
    // A session in a state that nobody knows is not used again.
    lost_ = true;
  }
}

// ---- Connecting ---------------------------------------------------------------------------------

std::string PostgresConnection::connect() {
  // What the URL says goes before what is here, but for the encoding. A server that is silent is
  // noticed within half a minute.
  constexpr std::array kKeywords = {
      "connect_timeout",  "keepalives_idle",  "keepalives_interval",
      "keepalives_count", "tcp_user_timeout", "fallback_application_name",
      "dbname",           "client_encoding",  static_cast<const char*>(nullptr)};
  const std::array values = {"10",         "10",    "5",
                             "4",          "30000", "tandem",
                             url_.c_str(), "UTF8",  static_cast<const char*>(nullptr)};
  static_assert(kKeywords.size() == std::tuple_size_v<decltype(values)>);
  connection_.reset();  // never two at a time
  connection_.reset(libpq().connect(kKeywords.data(), values.data(), 1));
  if (connection_ == nullptr) return "out of memory";
  // What matters comes as an error as well.
  libpq().hear_notices(
      connection_.get(), [](void*, const char*) {}, nullptr);
  lost_ = libpq().status(connection_.get()) != Libpq::kOk;
  return lost_ ? one_line(libpq().error_message(connection_.get())) : "";
}

/// A message of libpq that has no number: what is to be done about it.
std::string advice_for(const std::string& trouble) {
  const auto says = [&](const char* part) { return trouble.find(part) != std::string::npos; };
  if (says("does not exist") && says("database")) return "; make it with `createdb`";
  if (says("password") || says("authentication")) {
    return "; passwords are looked for in PGPASSWORD, ~/.pgpass and the file that PGPASSFILE names";
  }
  if (says("too many")) return "; a pooler in front of it, like pgbouncer, lets more in";
  return "";
}

PostgresConnection::PostgresConnection(std::string url, Store::Mode mode)
    : url_(std::move(url)), mode_(mode) {
  char* error = nullptr;
  Libpq::Option* options = libpq().parse(url_.c_str(), &error);
  if (options == nullptr) {
    const std::string detail = one_line(error);
    libpq().free_memory(error);
    throw StoreError(
        fmt::format("{}: {}; expected postgresql://[USER@]HOST[:PORT]/DATABASE", url_, detail));
  }
  libpq().free_options(options);
  const std::string trouble = connect();
  if (!trouble.empty()) {
    throw StoreError(fmt::format("{}: cannot connect ({}){}", url_, trouble, advice_for(trouble)));
  }
  for (int attempt = 1;; ++attempt) {
    try {
      open();
      return;
    } catch (const TryAgain& again) {
      // Where nothing was begun nothing is lost: who starts it shall know at once.
      if (lost_ || !recover(again, attempt)) throw;
    }
  }
}

PostgresConnection::~PostgresConnection() = default;

bool PostgresConnection::recover(const TryAgain& error, int attempt) {
  if (attempt >= kMostTries) return false;
  if (lost_) {
    reconnect(error.what());
    return true;
  }
  thread_local std::minstd_rand random{std::random_device{}()};
  std::this_thread::sleep_for(std::chrono::milliseconds(random() % (10U * attempt)));
  return true;
}

/// A pooler may answer where its server does not: only a transaction shows that all is well.
std::string PostgresConnection::connect_and_look() {
  std::string trouble = connect();
  if (!trouble.empty()) return trouble;
  try {
    Transaction moment(*this);
    find_version();
    moment.commit();
    return "";
  } catch (const TryAgain& error) {
    return error.what();
  }
}

void PostgresConnection::reconnect(const std::string& why) {
  const bool writes = mode_ == Store::Mode::write;
  const auto began = steady_clock::now();
  const auto end = writes ? began + kPatienceOfWriters : began + kPatienceOfReaders;
  bool said = false;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const std::string trouble = connect_and_look();
    if (trouble.empty()) break;
    if (steady_clock::now() > end) {
      throw StoreError(
          fmt::format("{}; it could not be made again ({}); what was stored before is "
                      "safe: give the same command again",
                      why, trouble));
    }
    if (writes) {
      if (!std::exchange(said, true)) say(why + "; waiting for it to come back");
      waiting_();
    }
    std::this_thread::sleep_for(pause);
  }
  if (said) {
    const std::chrono::duration<double> took = steady_clock::now() - began;
    say(fmt::format("{}: connected again after {:.0f} s", url_, took.count()));
  }
}

// ---- Whether it is a store ----------------------------------------------------------------------

void PostgresConnection::check_server() {
  const int version = libpq().server_version(connection_.get());
  if (version < kOldestServer) {
    throw StoreError(
        fmt::format("{}: found a server of version {}.{}, expected PostgreSQL {} or "
                    "newer",
                    url_, version / 10000, version % 10000, kOldestServer / 10000));
  }
  const char* encoding = libpq().parameter_status(connection_.get(), "server_encoding");
  const std::string_view name = encoding == nullptr ? "" : encoding;
  if (name != "UTF8" && name != "SQL_ASCII") {
    throw StoreError(
        fmt::format("{}: found a database in the encoding {}, expected UTF8; "
                    "`createdb --encoding UTF8 --template template0` makes one",
                    url_, name));
  }
}

int PostgresConnection::find_version() {
  {
    // Without rights in the schema.
    Query rows = query(
        "SELECT count(*), coalesce(sum(CASE relname WHEN 'store' THEN 1 ELSE 0 END), 0)::bigint "
        "FROM pg_catalog.pg_class WHERE relnamespace = "
        "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'tandem')");
    rows.next();
    if (rows.integer(0) == 0) return 0;
    if (rows.integer(1) == 0) {
      throw StoreError(
          fmt::format("{}: found a schema 'tandem' of another program in the database, expected "
                      "none or that of a store",
                      url_));
    }
  }
  Query rows = query("SELECT version, uid FROM tandem.store WHERE application = 'tandem'");
  if (!rows.next() || rows.integer(0) < 1) {
    throw StoreError(
        fmt::format("{}: found a store without a version: the store is damaged", url_));
  }
  if (rows.integer(0) > kSchemaVersion) {
    throw StoreError(fmt::format(
        "{}: the store has version {}, this program knows versions up to {}: it was written by a "
        "newer Tandem; use that, or another --store",
        url_, rows.integer(0), kSchemaVersion));
  }
  const std::string uid = rows.text(1);
  if (!uid_.empty() && uid != uid_) {
    throw StoreError(
        fmt::format("{}: the store was replaced by another one while this process used it", url_));
  }
  uid_ = uid;
  return static_cast<int>(rows.integer(0));
}

void PostgresConnection::make_tables(int from) {
  {
    // A role that may not make schemas may have been given an empty one of this name.
    Query rows = query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'tandem'");
    if (!rows.next()) execute("CREATE SCHEMA tandem");
  }
  for (const std::string& statement : postgres_migration(from)) execute(statement);
}

void PostgresConnection::require_rights() {
  Query rows = query(
      "SELECT pg_is_in_recovery()::int, count(*) FROM pg_catalog.pg_class WHERE relkind = 'r' AND "
      "relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'tandem') AND "
      "relname <> 'store' AND NOT (has_table_privilege(oid, 'SELECT') AND "
      "has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE') AND "
      "has_table_privilege(oid, 'DELETE'))");
  rows.next();
  if (rows.integer(0) != 0) {
    throw StoreError(fmt::format(
        "{}: the server is a copy of another one, which allows reading only; write to that", url_));
  }
  if (rows.integer(1) > 0) {
    throw StoreError(fmt::format(
        "{}: the role may read the store but not write to it ({} tables); its owner can GRANT "
        "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tandem",
        url_, rows.integer(1)));
  }
}

void PostgresConnection::open() {
  check_server();
  const auto version_now = [&] {
    Transaction moment(*this);
    const int version = find_version();
    moment.commit();
    return version;
  };
  int version = version_now();
  if (mode_ == Store::Mode::read) {
    if (version == 0) {
      throw NoStore(fmt::format("{}: the database has no store; `tandem study` makes one", url_));
    }
    if (version < kSchemaVersion) {
      throw StoreError(fmt::format(
          "{}: the store has version {}, this program reads version {}: the first command that "
          "writes to it, like `tandem study`, brings it up to date",
          url_, version, kSchemaVersion));
    }
    return;
  }
  if (version < kSchemaVersion) {
    Transaction transaction(*this, Durability::survives_power_cut);
    // Another process may be as far as this: who is first does it, the other one sees that.
    execute("SELECT pg_advisory_xact_lock(1416520813)");  // "Tndm"
    version = find_version();
    if (version < kSchemaVersion) make_tables(version);
    version = find_version();
    transaction.commit();
  }
  Transaction moment(*this);
  require_rights();
  moment.commit();
}

std::filesystem::path PostgresConnection::rescue() {
  throw StoreError(fmt::format(
      "{}: what a server holds is not copied to a file; `tandem runs merge` does it", url_));
}

}  // namespace tandem::store
