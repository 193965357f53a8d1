// SPDX-License-Identifier: MIT
// Inside the module: a store as its connection, and the parts that its calls are made of.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/connection.h"
#include "store/store.h"

namespace tandem::store {

struct Store::Impl {
  Impl(std::unique_ptr<Connection> to, Mode how) : connection(std::move(to)), mode(how) {}

  Query query(std::string_view sql) { return connection->query(sql); }
  std::string name() const { return connection->name(); }
  /// Seconds since 1970, by the clock that all processes of the store share.
  std::int64_t now();

  /// `work` in one transaction, which is tried again where something passing was in its way: it may
  /// be called more than once.
  template <typename Work>
  auto writing(const Work& work, Durability durability = Durability::survives_power_cut) {
    if (mode == Mode::read) throw StoreError(name() + ": the store was opened for reading only");
    return until_done([&] {
      Transaction transaction(*connection, durability);
      return committed(transaction, work);
    });
  }

  /// `work` on one state of the store, whatever others write meanwhile.
  template <typename Work>
  auto reading(const Work& work) {
    return until_done([&] {
      Transaction transaction(*connection);
      return committed(transaction, work);
    });
  }

  /// The same for `work` of one statement, which needs no transaction of its own.
  template <typename Work>
  auto asking(const Work& work) {
    return until_done(work);
  }

  // Parts of a caller's transaction.
  [[noreturn]] void throw_removed() const;
  /// Throws StudyRemoved. What writes results or plans holds the study to itself; what leases and
  /// tells only keeps it from being removed.
  void hold_study(std::int64_t study_id);
  void keep_study(std::int64_t study_id);
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
  void insert(std::int64_t study_id, const std::vector<Unit>& units);
  void insert_members(std::int64_t unit_id, const std::vector<MemberRow>& members);
  Study ensure(const Study& study);
  Task ensure(const Task& task);
  /// Who did a unit, and when.
  struct Finish {
    static constexpr std::int64_t kNow = -1;
    std::string owner = {};
    std::string token = {};        // of the lease; another store's are forgotten
    std::int64_t finished = kNow;  // seconds since 1970
  };
  /// A unit that is not done; its lease, if any, ends.
  void finish(std::int64_t study_id, const Unit& unit, const std::vector<MemberRow>& members,
              std::optional<double> optimum, const Finish& how);
  /// The leases of processes that are no more end.
  void end_leases_of_the_gone(std::int64_t study_id);
  std::optional<Study> find_study(const std::string& name);
  std::vector<Study> studies();
  std::vector<Task> tasks(std::int64_t study_id);
  std::vector<Unit> units(std::int64_t study_id);
  std::vector<MemberRow> task_members(std::int64_t task_id, const std::string& optimizer);
  std::vector<MemberRow> unit_members(std::int64_t unit_id);
  std::optional<std::pair<Task, MemberRow>> find_member(std::int64_t study_id,
                                                        std::int64_t member_id);
  void read_points(std::vector<MemberRow>& members, Curves curves);
  void read_points(const std::vector<MemberRow*>& members, const std::string& statement);
  Merged merge(Impl& other);

  std::unique_ptr<Connection> connection;
  Mode mode;

 private:
  template <typename Work>
  static auto committed(Transaction& transaction, const Work& work) -> decltype(work()) {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      transaction.commit();
    } else {
      auto result = work();
      transaction.commit();
      return result;
    }
  }

  template <typename Attempt>
  auto until_done(const Attempt& attempt) -> decltype(attempt()) {
    for (int failures = 1;; ++failures) {
      try {
        return attempt();
      } catch (const TryAgain& error) {
        if (!error.is_of(*connection) || !connection->recover(error, failures)) throw;
      } catch (const nlohmann::json::exception& error) {
        throw StoreError(name() + ": found text that is not the expected JSON (" + error.what() +
                         "): the store is damaged");
      }
    }
  }
};

/// Of a row: id, task_id, key, optimizer, phase, seed, members, place, work, done.
Unit unit_at(const Query& query);

std::string phase_name(Phase phase);
Phase phase_of(std::string_view name);

}  // namespace tandem::store
