// SPDX-License-Identifier: MIT
// A connection to a store's file: opening it safely, its errors in words, and its statements,
// prepared once.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace tandem::store {

/// SQLite's error as one that names the file, what is wrong and what to do.
StoreError explain(const std::filesystem::path& path, const SQLite::Exception& error);

/// A prepared statement in use; at rest again when this goes, so that it holds no lock.
class Query {
 public:
  explicit Query(SQLite::Statement& statement) : statement_(&statement) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { statement_->tryReset(); }

  /// Gives all parameters, in order.
  template <typename... Values>
  Query& bind(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }
  bool next() { return statement_->executeStep(); }
  /// Runs a statement without rows; the number of rows that it changed.
  int run() { return statement_->exec(); }

  std::int64_t integer(int column) const { return statement_->getColumn(column).getInt64(); }
  std::uint64_t count(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  std::string text(int column) const { return statement_->getColumn(column).getString(); }
  bool null(int column) const { return statement_->isColumnNull(column); }
  double number(int column) const;  // NULL is NaN

 private:
  void bind_one(int index, std::int64_t value) { statement_->bind(index, value); }
  void bind_one(int index, std::uint64_t value) {
    statement_->bind(index, static_cast<std::int64_t>(value));
  }
  void bind_one(int index, bool value) { statement_->bind(index, value ? 1 : 0); }
  void bind_one(int index, double value) { statement_->bind(index, value); }
  void bind_one(int index, const std::string& value) { statement_->bind(index, value); }
  void bind_one(int index, const std::optional<double>& value) {
    if (value) {
      statement_->bind(index, *value);
    } else {
      statement_->bind(index);
    }
  }

  SQLite::Statement* statement_;
};

/// Leases and what processes say of themselves need not survive a power cut, which their processes
/// do not survive either: without an fsync for each.
enum class Durability { survives_power_cut, survives_kill };

struct Store::Impl {
  Impl(std::filesystem::path file, Mode how);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  /// `sql` is a literal: its address is its name.
  Query query(const char* sql);

  /// Runs `work`, with errors in words.
  template <typename Work>
  auto guarded(const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      throw explain(path, error);
    } catch (const nlohmann::json::exception& error) {
      throw StoreError(path.string() + ": found text that is not the expected JSON (" +
                       error.what() + "): the store is damaged");
    }
  }

  /// `work` in one transaction that has the right to write from its start, so that two processes
  /// wait for each other instead of failing half-way.
  template <typename Work>
  auto writing(const Work& work, Durability durability = Durability::survives_power_cut)
      -> decltype(work()) {
    return guarded([&] {
      begin_writing(durability);
      SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        transaction.commit();
      } else {
        auto result = work();
        transaction.commit();
        return result;
      }
    });
  }

  /// `work` on one state of the store, whatever others write meanwhile.
  template <typename Work>
  auto reading(const Work& work) -> decltype(work()) {
    return guarded([&] {
      SQLite::Transaction transaction(*database);
      auto result = work();
      transaction.commit();
      return result;
    });
  }

  /// Throws if the store is not to be written to, or is not where it was.
  void begin_writing(Durability durability);
  bool moved() const;
  std::filesystem::path rescue() const;

  // Parts of a caller's transaction.
  /// Throws StudyRemoved.
  void require_study(std::int64_t study_id);
  Progress progress(std::int64_t study_id);
  /// What is stored of the study changes: so many are added to its counts.
  struct Change {
    std::size_t tasks = 0;
    std::size_t units = 0;
    std::size_t done = 0;
    std::size_t members = 0;
    double work_done = 0;
  };
  void count(std::int64_t study_id, const Change& change);
  Study insert(const Study& study);
  Task insert(const Task& task);
  void insert(std::int64_t study_id, const Unit& unit);
  void insert_members(std::int64_t unit_id, const std::vector<MemberRow>& members);
  Study ensure(const Study& study);
  Task ensure(const Task& task);
  /// A unit that is not done; its lease, if any, ends.
  void finish(std::int64_t study_id, const Unit& unit, const std::vector<MemberRow>& members,
              std::optional<double> optimum, const std::string& owner, std::int64_t finished);
  std::optional<Study> find_study(const std::string& name);
  std::vector<Study> studies();
  std::vector<Task> tasks(std::int64_t study_id);
  std::vector<Unit> units(std::int64_t study_id);
  std::vector<MemberRow> unit_members(std::int64_t unit_id, bool with_points);
  std::optional<std::pair<Task, MemberRow>> find_member(std::int64_t study_id,
                                                        std::int64_t member_id);
  void read_points(MemberRow& member);
  Merged merge(Impl& other);

  std::filesystem::path path;
  Mode mode;
  bool copy = false;
  Durability durability_now = Durability::survives_power_cut;
  std::unique_ptr<SQLite::Database> database;
  std::map<const char*, SQLite::Statement> statements;  // go before their database
};

/// Seconds since 1970.
std::int64_t now();

/// Of a row: id, task_id, key, optimizer, phase, seed, members, place, work, done.
Unit unit_at(const Query& query);

std::string phase_name(Phase phase);
Phase phase_of(std::string_view name);

}  // namespace tandem::store
