// SPDX-License-Identifier: MIT
// The calls of a store, each one transaction around the parts in plan.cc, rows.cc and merge.cc;
// those about who does the work are in leases.cc.
#include "store/store.h"

#include <fmt/format.h>

#include <utility>

#include "store/impl.h"
#include "store/location.h"
#include "store/postgres_connection.h"
#include "store/sqlite_connection.h"

namespace tandem::store {

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

namespace {

std::unique_ptr<Connection> connect(const std::string& location, Store::Mode mode) {
  if (is_postgres(location)) return std::make_unique<PostgresConnection>(location, mode);
  return std::make_unique<SqliteConnection>(location, mode);
}

}  // namespace

Store Store::open(const std::string& location, Mode mode) {
  return Store(std::make_unique<Impl>(connect(location, mode), mode));
}

std::string Store::name() const { return impl_->name(); }

void Store::while_waiting(const std::function<void()>& ask) {
  impl_->connection->while_waiting(ask);
}

bool Store::exists(const std::string& location) {
  try {
    open(location, Mode::read);
    return true;
  } catch (const NoStore&) {
    return false;
  }
}

bool Store::is_copy() const { return impl_->connection->is_copy(); }

// ---- What is planned ----------------------------------------------------------------------------

Study Store::ensure_study(const Study& study) {
  return impl_->writing([&] { return impl_->ensure(study); });
}

std::vector<Task> Store::ensure_tasks(const std::vector<Task>& tasks) {
  return impl_->writing([&] {
    std::vector<Task> stored;
    for (const Task& task : tasks) {
      impl_->hold_study(task.study_id);
      stored.push_back(impl_->ensure(task));
    }
    return stored;
  });
}

void Store::add_units(std::int64_t study_id, const std::vector<Unit>& units) {
  if (units.empty()) return;
  impl_->writing([&] {
    impl_->hold_study(study_id);
    impl_->insert(study_id, units);
  });
}

// ---- What there is ------------------------------------------------------------------------------

Progress Store::progress(std::int64_t study_id) const {
  return impl_->asking([&] { return impl_->progress(study_id); });
}

Totals Store::totals(std::int64_t study_id) const {
  return impl_->asking([&] {
    Query query = impl_->query(
        "SELECT (SELECT count(*) FROM tandem.task WHERE study_id = $1), "
        "(SELECT count(*) FROM tandem.unit JOIN tandem.member ON unit_id = unit.id WHERE study_id "
        "= $1), "
        "(SELECT count(*) FROM tandem.unit JOIN tandem.member ON unit_id = unit.id "
        "JOIN tandem.point ON member_id = member.id WHERE study_id = $1)");
    query.bind(study_id).next();
    return Totals{.tasks = query.count(0), .members = query.count(1), .points = query.count(2)};
  });
}

std::vector<Study> Store::studies() const {
  return impl_->asking([&] { return impl_->studies(); });
}

std::optional<Study> Store::find_study(const std::string& name) const {
  return impl_->asking([&] { return impl_->find_study(name); });
}

std::vector<Task> Store::tasks(std::int64_t study_id) const {
  return impl_->asking([&] { return impl_->tasks(study_id); });
}

std::vector<Unit> Store::units(std::int64_t study_id) const {
  return impl_->asking([&] { return impl_->units(study_id); });
}

bool Store::is_tuned(std::int64_t task_id, const std::string& optimizer) const {
  return impl_->asking([&] {
    Query query = impl_->query(
        "SELECT 1 FROM tandem.unit WHERE task_id = $1 AND optimizer = $2 AND done = 0 AND "
        "phase = 'tune' LIMIT 1");
    return !query.bind(task_id, optimizer).next();
  });
}

std::vector<MemberRow> Store::members(std::int64_t task_id, Curves curves,
                                      const std::string& optimizer) const {
  return impl_->reading([&] {
    std::vector<MemberRow> members = impl_->task_members(task_id, optimizer);
    impl_->read_points(members, curves);
    return members;
  });
}

std::optional<std::pair<Task, MemberRow>> Store::find_member(std::int64_t study_id,
                                                             std::int64_t member_id) const {
  return impl_->reading([&] { return impl_->find_member(study_id, member_id); });
}

bool Store::remove_study(std::int64_t study_id, bool force) {
  return impl_->writing([&] {
    impl_->query("SELECT 1 FROM tandem.tally WHERE study_id = $1 FOR UPDATE").bind(study_id).next();
    if (!force && impl_->progress(study_id).leased > 0) return false;
    impl_->query("DELETE FROM tandem.study WHERE id = $1").bind(study_id).run();
    return true;
  });
}

std::filesystem::path Store::rescue() const { return impl_->connection->rescue(); }

Merged Store::merge(const std::string& other) {
  Impl source(connect(other, Mode::read), Mode::read);
  if (impl_->connection->identity() == source.connection->identity()) {
    throw StoreError(fmt::format("{}: cannot merge a store into itself", source.name()));
  }
  // A second try finds what the first one added, if its answer was lost.
  Merged most;
  return source.reading([&] {
    return impl_->writing([&] {
      const Merged merged = impl_->merge(source);
      if (merged.studies + merged.units > most.studies + most.units) most = merged;
      return most;
    });
  });
}

}  // namespace tandem::store
