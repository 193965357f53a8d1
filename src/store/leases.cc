// SPDX-License-Identifier: MIT
// Who does the work of a study: leases of units, and what processes at work say of themselves.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/token.h"
#include "store/connection.h"
#include "store/owner.h"

namespace tandem::store {

namespace {

/// Whether leases are held, each owner asked about once.
class Leases {
 public:
  bool held(const Query& query, int owner_column, int end_column) {
    if (query.null(owner_column) || query.integer(end_column) <= now_) return false;
    const std::string owner = query.text(owner_column);
    const auto [place, is_new] = gone_.try_emplace(owner, false);
    if (is_new) place->second = is_gone(owner);
    return !place->second;
  }

 private:
  std::int64_t now_ = now();
  std::map<std::string, bool> gone_;
};

// A process says something every few seconds unless it was stopped.
constexpr std::int64_t kSilence = 120;

}  // namespace

Progress Store::Impl::progress(std::int64_t study_id) {
  require_study(study_id);
  Progress progress;
  {
    Query counts = query(
        "SELECT units, done, members, work_done, revision, tasks FROM tally WHERE study_id = ?");
    counts.bind(study_id).next();
    progress = {.units = counts.count(0),
                .done = counts.count(1),
                .tasks = counts.count(5),
                .members = counts.count(2),
                .work_done = counts.number(3),
                .revision = counts.integer(4)};
  }
  Query rows = query("SELECT owner, ends FROM lease WHERE study_id = ?");
  rows.bind(study_id);
  Leases leases;
  while (rows.next()) progress.leased += leases.held(rows, 0, 1) ? 1 : 0;
  return progress;
}

std::optional<Lease> Store::lease(std::int64_t study_id, const std::string& owner, int seconds,
                                  const std::string& key) {
  const auto take = [&]() -> std::optional<Lease> {
    impl_->require_study(study_id);
    std::optional<Unit> unit;
    {
      Query query = impl_->query(
          "SELECT unit.id, task_id, key, optimizer, phase, seed, members, place, work, done, "
          "lease.owner, ends FROM unit LEFT JOIN lease ON unit_id = unit.id "
          "WHERE unit.study_id = ?1 AND done = 0 AND (?2 = '' OR key = ?2) ORDER BY place, key");
      query.bind(study_id, key);
      Leases leases;
      while (!unit && query.next()) {
        if (!leases.held(query, 10, 11)) unit = unit_at(query);
      }
    }
    if (!unit) return std::nullopt;
    Lease lease{.unit = *unit, .study_id = study_id, .owner = owner, .token = random_token()};
    // Takes the place of one that ran out.
    impl_
        ->query(
            "INSERT OR REPLACE INTO lease (token, study_id, unit_id, owner, ends) "
            "VALUES (?, ?, ?, ?, ?)")
        .bind(lease.token, study_id, unit->id, owner, now() + seconds)
        .run();
    return lease;
  };
  return impl_->writing(take, Durability::survives_kill);
}

bool Store::renew(const Lease& lease, int seconds) {
  return impl_->writing(
      [&] {
        impl_->require_study(lease.study_id);
        return impl_->query("UPDATE lease SET ends = ? WHERE token = ?")
                   .bind(now() + seconds, lease.token)
                   .run() > 0;
      },
      Durability::survives_kill);
}

bool Store::finish(const Lease& lease, const std::vector<MemberRow>& members,
                   std::optional<double> optimum) {
  return impl_->writing([&] {
    impl_->require_study(lease.study_id);
    {
      Query query =
          impl_->query("SELECT 1 FROM lease WHERE token = ? AND unit_id = ? AND study_id = ?");
      if (!query.bind(lease.token, lease.unit.id, lease.study_id).next()) return false;
    }
    impl_->finish(lease.study_id, lease.unit, members, optimum, lease.owner, now());
    return true;
  });
}

void Store::release(const Lease& lease) {
  impl_->writing([&] { impl_->query("DELETE FROM lease WHERE token = ?").bind(lease.token).run(); },
                 Durability::survives_kill);
}

void Store::tell(std::int64_t study_id, const Worker& worker) {
  const auto write = [&] {
    impl_->require_study(study_id);
    impl_
        ->query(
            "INSERT INTO worker VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET "
            "updated = ?3, part = ?4, seconds_left = ?5, doing = ?6, curve = ?7")
        .bind(study_id, worker.owner, now(), worker.part, worker.seconds_left, worker.doing,
              worker.curve)
        .run();
  };
  impl_->writing(write, Durability::survives_kill);
}

void Store::untell(std::int64_t study_id, const std::string& owner) {
  const auto remove = [&] {
    impl_->query("DELETE FROM worker WHERE study_id = ? AND owner = ?").bind(study_id, owner).run();
  };
  impl_->writing(remove, Durability::survives_kill);
}

std::vector<Worker> Store::workers(std::int64_t study_id) const {
  return impl_->reading([&] {
    Query query = impl_->query(
        "SELECT owner, began, updated, part, seconds_left, doing, curve FROM worker "
        "WHERE study_id = ? AND updated > ? ORDER BY began, owner");
    query.bind(study_id, now() - kSilence);
    std::vector<Worker> workers;
    while (query.next()) {
      if (is_gone(query.text(0))) continue;
      workers.push_back(
          {.owner = query.text(0),
           .began = query.integer(1),
           .updated = query.integer(2),
           .part = query.number(3),
           .seconds_left = query.null(4) ? std::nullopt : std::optional(query.number(4)),
           .doing = query.text(5),
           .curve = query.text(6)});
    }
    return workers;
  });
}

}  // namespace tandem::store
