// SPDX-License-Identifier: MIT
// A connection to the database of a store, whichever program keeps it: transactions, and statements
// that are written once, in PostgreSQL's words.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "store/store.h"

namespace tandem::store {

class Connection;

/// The transaction failed, and nothing of it was stored that is known of; the same once more may
/// succeed: another process was in the way, or the connection was lost.
class TryAgain : public StoreError {
 public:
  TryAgain(const Connection& of, const std::string& message) : StoreError(message), of_(&of) {}
  bool is_of(const Connection& connection) const { return of_ == &connection; }

 private:
  const Connection* of_;
};

/// What a statement is given and a table keeps: counts, seeds and yes or no as 64 bits with a sign;
/// numbers, none of which is NULL; text. A NaN is NULL too, since SQLite has none.
using Value = std::variant<std::int64_t, std::optional<double>, std::string>;

inline Value to_value(std::int64_t value) { return value; }
inline Value to_value(std::uint64_t value) { return static_cast<std::int64_t>(value); }
inline Value to_value(bool value) { return std::int64_t{value ? 1 : 0}; }
inline Value to_value(double value) {
  return std::isnan(value) ? std::optional<double>() : std::optional(value);
}
inline Value to_value(const std::optional<double>& value) {
  return value ? to_value(*value) : Value(value);
}
inline Value to_value(const std::string& value) { return value; }

/// A statement that a connection knows.
class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  virtual ~Statement() = default;

  virtual void bind(int index, const Value& value) = 0;  // from 1
  virtual bool step() = 0;                               // to the next row, if there is one
  virtual int run() = 0;                                 // without rows: how many it changed
  virtual std::int64_t integer(int column) const = 0;
  virtual double number(int column) const = 0;  // NULL is NaN
  virtual std::string text(int column) const = 0;
  virtual bool null(int column) const = 0;
  virtual void reset() noexcept = 0;
};

/// A statement in use; at rest again when this goes, so that it holds no lock.
class Query {
 public:
  explicit Query(Statement& statement) : statement_(&statement) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { statement_->reset(); }

  /// Gives all parameters, in order.
  template <typename... Values>
  Query& bind(const Values&... values) {
    int index = 0;
    (statement_->bind(++index, to_value(values)), ...);
    return *this;
  }
  bool next() { return statement_->step(); }
  /// Runs a statement without rows; the number of rows that it changed.
  int run() { return statement_->run(); }

  std::int64_t integer(int column) const { return statement_->integer(column); }
  std::uint64_t count(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  std::string text(int column) const { return statement_->text(column); }
  bool null(int column) const { return statement_->null(column); }
  double number(int column) const { return statement_->number(column); }

 private:
  Statement* statement_;
};

/// Rows for a table, to be added in few messages to the server.
class Rows {
 public:
  Rows(std::string table, std::vector<std::string> columns)
      : table_(std::move(table)), columns_(std::move(columns)) {}

  template <typename... Values>
  void add(const Values&... values) {
    (values_.push_back(to_value(values)), ...);
  }
  void clear() { values_.clear(); }

  const std::string& table() const { return table_; }
  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t size() const { return values_.size() / columns_.size(); }
  const Value& at(std::size_t row, std::size_t column) const {
    return values_[row * columns_.size() + column];
  }

 private:
  std::string table_;
  std::vector<std::string> columns_;
  std::vector<Value> values_;
};

/// In a file leases and what processes say of themselves need not survive a power cut, which their
/// processes do not survive either: without an fsync for each.
enum class Durability { survives_power_cut, survives_kill };

class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  /// For people, in messages.
  virtual std::string name() const = 0;
  /// The same for all connections to one store, and for them alone.
  virtual std::string identity() = 0;
  virtual bool is_copy() const { return false; }

  /// In PostgreSQL's words, with parameters $1, $2, ..., tables of the schema "tandem", the function tandem.now() (seconds since 1970, of the one clock that all
  /// share) and locks of rows by a FOR at the end.
  virtual Statement& prepare(std::string_view sql) = 0;
  Query query(std::string_view sql) { return Query(prepare(sql)); }
  /// How many were added. Those that are there already, by these columns, are left out.
  virtual std::size_t insert(const Rows& rows, const std::string& unless_there = {}) = 0;

  /// A transaction that sees one state of the store, whatever others write.
  virtual void begin_reading() = 0;
  /// A transaction that writes. Throws StoreMoved.
  virtual void begin_writing(Durability durability) = 0;
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;

  /// After TryAgain: whether the transaction is to be tried again, for the next time in a row. May
  /// take as long as the server needs to come back.
  virtual bool recover(const TryAgain& /*error*/, int /*attempt*/) { return false; }
  /// Store::while_waiting; a file is never waited for.
  virtual void while_waiting(const std::function<void()>& /*ask*/) {}
  /// Writes all that the store held to a file beside it.
  virtual std::filesystem::path rescue() = 0;
};

/// Rolled back where it is not committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {
    connection_.begin_reading();
  }
  Transaction(Connection& connection, Durability durability) : connection_(connection) {
    connection_.begin_writing(durability);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (!done_) connection_.rollback();
  }
  void commit() {
    connection_.commit();
    done_ = true;
  }

 private:
  Connection& connection_;
  bool done_ = false;
};

}  // namespace tandem::store
