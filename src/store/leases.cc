// SPDX-License-Identifier: MIT
// Who does the work of a study: leases of units, and what processes at work say of themselves.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/token.h"
#include "store/impl.h"
#include "store/owner.h"

namespace tandem::store {

namespace {

// A process says something every few seconds unless it was stopped.
constexpr std::int64_t kSilence = 120;

/// Whether owners are gone, each asked about once.
class Owners {
 public:
  bool gone(const std::string& owner) {
    const auto [place, is_new] = gone_.try_emplace(owner, false);
    if (is_new) place->second = is_gone(owner);
    return place->second;
  }

 private:
  std::map<std::string, bool> gone_;
};

}  // namespace

Progress Store::Impl::progress(std::int64_t study_id) {
  Query rows = query(
      "SELECT units, done, members, work_done, revision, tasks, owner FROM tandem.tally "
      "LEFT JOIN tandem.lease ON lease.study_id = tally.study_id AND ends > tandem.now() "
      "WHERE tally.study_id = $1");
  rows.bind(study_id);
  Progress progress;
  Owners owners;
  bool there = false;
  while (rows.next()) {
    there = true;
    progress = {.units = rows.count(0),
                .done = rows.count(1),
                .leased = progress.leased,
                .tasks = rows.count(5),
                .members = rows.count(2),
                .work_done = rows.number(3),
                .revision = rows.integer(4)};
    if (!rows.null(6) && !owners.gone(rows.text(6))) ++progress.leased;
  }
  if (!there) throw_removed();
  return progress;
}

void Store::Impl::end_leases_of_the_gone(std::int64_t study_id) {
  std::vector<std::string> tokens;
  {
    Query rows = query("SELECT owner, token FROM tandem.lease WHERE study_id = $1");
    rows.bind(study_id);
    Owners owners;
    while (rows.next()) {
      if (owners.gone(rows.text(0))) tokens.push_back(rows.text(1));
    }
  }
  for (const std::string& token : tokens) {
    query("UPDATE tandem.lease SET ends = 0 WHERE token = $1").bind(token).run();
  }
}

std::optional<Lease> Store::lease(std::int64_t study_id, const std::string& owner, int seconds,
                                  const std::string& key) {
  const std::string token = random_token();
  bool again = false;
  const auto first_free = [&]() -> std::optional<Unit> {
    static const std::string kFree =
        "SELECT id, task_id, key, optimizer, phase, seed, members, place, work, done "
        "FROM tandem.unit WHERE study_id = $1 AND done = 0 AND "
        "coalesce((SELECT ends FROM tandem.lease WHERE unit_id = unit.id), 0) <= tandem.now() ";
    static const std::string kFirst = kFree + "ORDER BY place, key LIMIT 1 FOR UPDATE SKIP LOCKED";
    static const std::string kNamed = kFree + "AND key = $2 FOR UPDATE SKIP LOCKED";
    Query rows = impl_->query(key.empty() ? kFirst : kNamed);
    if (!(key.empty() ? rows.bind(study_id) : rows.bind(study_id, key)).next()) return std::nullopt;
    return unit_at(rows);
  };
  // Takes the place of one that ran out. Another process may have been faster since we looked.
  const auto take = [&](const Unit& unit) {
    return impl_
               ->query(
                   "INSERT INTO tandem.lease (token, study_id, unit_id, owner, ends) "
                   "VALUES ($1, $2, $3, $4, tandem.now() + $5) ON CONFLICT (unit_id) DO UPDATE SET "
                   "token = excluded.token, owner = excluded.owner, ends = excluded.ends "
                   "WHERE lease.ends <= tandem.now()")
               .bind(token, study_id, unit.id, owner, std::int64_t{seconds})
               .run() > 0;
  };
  const auto lease = [&]() -> std::optional<Lease> {
    impl_->keep_study(study_id);
    if (std::exchange(again, true)) {
      // The first try may have been stored, though its answer was lost.
      Query rows = impl_->query(
          "SELECT unit.id, task_id, key, optimizer, phase, seed, members, place, work, done "
          "FROM tandem.lease JOIN tandem.unit ON unit.id = unit_id WHERE lease.token = $1");
      if (rows.bind(token).next()) {
        return Lease{.unit = unit_at(rows), .study_id = study_id, .owner = owner, .token = token};
      }
    }
    impl_->end_leases_of_the_gone(study_id);
    while (auto unit = first_free()) {
      if (take(*unit)) {
        return Lease{
            .unit = std::move(*unit), .study_id = study_id, .owner = owner, .token = token};
      }
    }
    return std::nullopt;
  };
  return impl_->writing(lease, Durability::survives_kill);
}

bool Store::renew(const Lease& lease, int seconds) {
  const auto renew = [&] {
    impl_->keep_study(lease.study_id);
    return impl_->query("UPDATE tandem.lease SET ends = tandem.now() + $1 WHERE token = $2")
               .bind(std::int64_t{seconds}, lease.token)
               .run() > 0;
  };
  return impl_->writing(renew, Durability::survives_kill);
}

bool Store::finish(const Lease& lease, const std::vector<MemberRow>& members,
                   std::optional<double> optimum) {
  bool again = false;
  return impl_->writing([&] {
    impl_->hold_study(lease.study_id);
    const bool tried = std::exchange(again, true);
    {
      Query unit = impl_->query("SELECT done, token FROM tandem.unit WHERE id = $1 FOR UPDATE");
      if (!unit.bind(lease.unit.id).next()) return false;
      // The first try was stored, though its answer was lost.
      if (unit.integer(0) != 0) return tried && unit.text(1) == lease.token;
    }
    {
      Query rows = impl_->query(
          "SELECT 1 FROM tandem.lease WHERE token = $1 AND unit_id = $2 AND study_id = $3");
      if (!rows.bind(lease.token, lease.unit.id, lease.study_id).next()) return false;
    }
    impl_->finish(lease.study_id, lease.unit, members, optimum,
                  {.owner = lease.owner, .token = lease.token});
    return true;
  });
}

void Store::release(const Lease& lease) {
  const auto remove = [&] {
    impl_->query("DELETE FROM tandem.lease WHERE token = $1").bind(lease.token).run();
  };
  impl_->writing(remove, Durability::survives_kill);
}

bool Store::keep_checkpoint(const Lease& lease, const std::string& bytes) {
  // Text goes into every database.
  const std::string text = base64(bytes);
  return impl_->writing([&] {
    impl_->keep_study(lease.study_id);
    {
      Query rows =
          impl_->query("SELECT 1 FROM tandem.lease WHERE token = $1 AND unit_id = $2 FOR UPDATE");
      if (!rows.bind(lease.token, lease.unit.id).next()) return false;
    }
    impl_
        ->query(
            "INSERT INTO tandem.checkpoint (unit_id, bytes) VALUES ($1, $2) "
            "ON CONFLICT (unit_id) DO UPDATE SET bytes = excluded.bytes")
        .bind(lease.unit.id, text)
        .run();
    return true;
  });
}

std::optional<std::string> Store::checkpoint(const Lease& lease) const {
  const auto text = impl_->reading([&]() -> std::optional<std::string> {
    Query rows = impl_->query("SELECT bytes FROM tandem.checkpoint WHERE unit_id = $1");
    if (!rows.bind(lease.unit.id).next()) return std::nullopt;
    return rows.text(0);
  });
  return text ? from_base64(*text) : std::nullopt;
}

void Store::tell(std::int64_t study_id, const Worker& worker) {
  const auto write = [&] {
    impl_->keep_study(study_id);
    impl_
        ->query(
            "INSERT INTO tandem.worker "
            "(study_id, owner, began, updated, part, seconds_left, doing, curve, machine, target) "
            "VALUES ($1, $2, tandem.now(), tandem.now(), $3, $4, $5, $6, $7, $8) "
            "ON CONFLICT (study_id, owner) DO UPDATE SET updated = excluded.updated, "
            "part = excluded.part, seconds_left = excluded.seconds_left, doing = excluded.doing, "
            "curve = excluded.curve, machine = excluded.machine, target = excluded.target")
        .bind(study_id, worker.owner, worker.part, worker.seconds_left, worker.doing, worker.curve,
              worker.machine, worker.target)
        .run();
  };
  impl_->writing(write, Durability::survives_kill);
}

void Store::untell(std::int64_t study_id, const std::string& owner) {
  const auto remove = [&] {
    impl_->query("DELETE FROM tandem.worker WHERE study_id = $1 AND owner = $2")
        .bind(study_id, owner)
        .run();
  };
  impl_->writing(remove, Durability::survives_kill);
}

std::vector<Worker> Store::workers(std::int64_t study_id) const {
  return impl_->asking([&] {
    Query query = impl_->query(
        "SELECT owner, began, updated, part, seconds_left, doing, curve, machine, target "
        "FROM tandem.worker "
        "WHERE study_id = $1 AND updated > tandem.now() - $2 ORDER BY began, owner");
    query.bind(study_id, kSilence);
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
           .curve = query.text(6),
           .machine = query.text(7),
           .target = query.text(8)});
    }
    return workers;
  });
}

}  // namespace tandem::store
