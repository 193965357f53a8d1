// SPDX-License-Identifier: MIT
// The calls of a store: each is one transaction around the parts in plan.cc, rows.cc and merge.cc.
#include "store/store.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "store/connection.h"
#include "store/owner.h"

namespace tandem::store {

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Store Store::open(const std::filesystem::path& path, Mode mode) {
  return Store(std::make_unique<Impl>(path, mode));
}

const std::filesystem::path& Store::path() const { return impl_->path; }
bool Store::is_copy() const { return impl_->copy; }

// ---- What is planned ----------------------------------------------------------------------------

Study Store::ensure_study(const Study& study) {
  return impl_->writing([&] { return impl_->ensure(study); });
}

Task Store::ensure_task(const Task& task) {
  return impl_->writing([&] { return impl_->ensure(task); });
}

void Store::set_optimum(std::int64_t task_id, double optimum) {
  impl_->writing([&] {
    impl_->query("UPDATE task SET optimum = ? WHERE id = ?").bind(optimum, task_id).run();
  });
}

void Store::add_units(std::int64_t study_id, const std::vector<Unit>& units) {
  impl_->writing([&] {
    for (const Unit& unit : units) impl_->insert(study_id, unit);
  });
}

// ---- Who does it --------------------------------------------------------------------------------

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

}  // namespace

std::optional<Unit> Store::lease(std::int64_t study_id, const std::string& owner, int seconds) {
  return impl_->writing([&]() -> std::optional<Unit> {
    std::optional<Unit> unit;
    {
      Query query = impl_->query(
          "SELECT owner, lease_end, id, task_id, key, optimizer, phase, seed, members, place "
          "FROM unit WHERE study_id = ? AND done = 0 ORDER BY place, key");
      query.bind(study_id);
      Leases leases;
      while (!unit && query.next()) {
        if (leases.held(query, 0, 1)) continue;
        unit = Unit{.id = query.integer(2),
                    .task_id = query.integer(3),
                    .key = query.text(4),
                    .optimizer = query.text(5),
                    .phase = phase_of(query.text(6)),
                    .seed = query.count(7),
                    .members = query.text(8),
                    .place = query.integer(9)};
      }
    }
    if (unit) {
      impl_->query("UPDATE unit SET owner = ?, lease_end = ? WHERE id = ?")
          .bind(owner, now() + seconds, unit->id)
          .run();
    }
    return unit;
  });
}

bool Store::renew(std::int64_t unit_id, const std::string& owner, int seconds) {
  return impl_->writing([&] {
    return impl_->query("UPDATE unit SET lease_end = ? WHERE id = ? AND owner = ? AND done = 0")
               .bind(now() + seconds, unit_id, owner)
               .run() > 0;
  });
}

bool Store::finish(std::int64_t unit_id, const std::string& owner,
                   const std::vector<MemberRow>& members) {
  return impl_->writing([&] { return impl_->finish(unit_id, owner, members, now()); });
}

void Store::release(std::int64_t unit_id, const std::string& owner) {
  impl_->writing([&] {
    impl_
        ->query(
            "UPDATE unit SET owner = NULL, lease_end = NULL WHERE id = ? AND owner = ? "
            "AND done = 0")
        .bind(unit_id, owner)
        .run();
  });
}

namespace {

// A process says something every few seconds unless it was stopped.
constexpr std::int64_t kSilence = 120;

}  // namespace

void Store::tell(std::int64_t study_id, const Worker& worker) {
  impl_->writing([&] {
    impl_
        ->query(
            "INSERT INTO worker VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET "
            "updated = ?3, part = ?4, seconds_left = ?5, doing = ?6, curve = ?7")
        .bind(study_id, worker.owner, now(), worker.part, worker.seconds_left, worker.doing,
              worker.curve)
        .run();
  });
}

void Store::untell(std::int64_t study_id, const std::string& owner) {
  impl_->writing([&] {
    impl_->query("DELETE FROM worker WHERE study_id = ? AND owner = ?").bind(study_id, owner).run();
  });
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

// ---- What there is ------------------------------------------------------------------------------

Progress Store::progress(std::int64_t study_id) const {
  return impl_->reading([&] {
    Query query = impl_->query("SELECT done, owner, lease_end FROM unit WHERE study_id = ?");
    query.bind(study_id);
    Progress progress;
    Leases leases;
    while (query.next()) {
      ++progress.units;
      const bool done = query.integer(0) != 0;
      progress.done += done ? 1 : 0;
      progress.leased += !done && leases.held(query, 1, 2) ? 1 : 0;
    }
    return progress;
  });
}

Totals Store::totals(std::int64_t study_id) const {
  return impl_->reading([&] {
    Query query = impl_->query(
        "SELECT (SELECT count(*) FROM task WHERE study_id = ?1), "
        "(SELECT count(*) FROM unit JOIN member ON unit_id = unit.id WHERE study_id = ?1), "
        "(SELECT count(*) FROM unit JOIN member ON unit_id = unit.id "
        "JOIN point ON member_id = member.id WHERE study_id = ?1)");
    query.bind(study_id).next();
    return Totals{.tasks = query.count(0), .members = query.count(1), .points = query.count(2)};
  });
}

std::size_t Store::member_count(std::int64_t study_id) const {
  return impl_->reading([&] {
    Query query = impl_->query(
        "SELECT count(*) FROM unit JOIN member ON unit_id = unit.id WHERE study_id = ?");
    query.bind(study_id).next();
    return query.count(0);
  });
}

std::vector<Study> Store::studies() const {
  return impl_->reading([&] { return impl_->studies(); });
}

std::optional<Study> Store::find_study(const std::string& name) const {
  return impl_->reading([&] { return impl_->find_study(name); });
}

std::vector<Task> Store::tasks(std::int64_t study_id) const {
  return impl_->reading([&] { return impl_->tasks(study_id); });
}

std::vector<Unit> Store::units(std::int64_t study_id) const {
  return impl_->reading([&] { return impl_->units(study_id); });
}

std::vector<MemberRow> Store::members(std::int64_t task_id, bool with_points,
                                      const std::string& optimizer) const {
  return impl_->reading([&] {
    std::vector<MemberRow> members;
    Query query = impl_->query(
        "SELECT id FROM unit WHERE task_id = ? AND done = 1 AND (? = '' OR optimizer = ?) "
        "ORDER BY place, key");
    query.bind(task_id, optimizer, optimizer);
    while (query.next()) {
      auto more = impl_->unit_members(query.integer(0), with_points);
      members.insert(members.end(), std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
    }
    return members;
  });
}

std::optional<std::pair<Task, MemberRow>> Store::find_member(std::int64_t study_id,
                                                             std::int64_t member_id) const {
  return impl_->reading([&] { return impl_->find_member(study_id, member_id); });
}

void Store::remove_study(std::int64_t study_id) {
  impl_->writing([&] { impl_->query("DELETE FROM study WHERE id = ?").bind(study_id).run(); });
}

Merged Store::merge(const std::filesystem::path& other) {
  Impl source(other, Mode::read);
  std::error_code error;
  if (std::filesystem::equivalent(impl_->path, other, error)) {
    throw StoreError(fmt::format("{}: cannot merge a store into itself", other.string()));
  }
  return source.reading([&] { return impl_->writing([&] { return impl_->merge(source); }); });
}

}  // namespace tandem::store
