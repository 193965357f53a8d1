// SPDX-License-Identifier: MIT
// The calls of a store, each one transaction around the parts in plan.cc, rows.cc and merge.cc;
// those about who does the work are in leases.cc.
#include "store/store.h"

#include <fmt/format.h>

#include <utility>

#include "store/connection.h"

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

std::vector<Task> Store::ensure_tasks(const std::vector<Task>& tasks) {
  return impl_->writing([&] {
    std::vector<Task> stored;
    for (const Task& task : tasks) {
      impl_->require_study(task.study_id);
      stored.push_back(impl_->ensure(task));
    }
    return stored;
  });
}

void Store::add_units(std::int64_t study_id, const std::vector<Unit>& units) {
  if (units.empty()) return;
  impl_->writing([&] {
    impl_->require_study(study_id);
    for (const Unit& unit : units) impl_->insert(study_id, unit);
  });
}

// ---- What there is ------------------------------------------------------------------------------

Progress Store::progress(std::int64_t study_id) const {
  return impl_->reading([&] { return impl_->progress(study_id); });
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

bool Store::is_tuned(std::int64_t task_id, const std::string& optimizer) const {
  return impl_->reading([&] {
    Query query = impl_->query(
        "SELECT 1 FROM unit WHERE task_id = ? AND optimizer = ? AND done = 0 AND phase = 'tune' "
        "LIMIT 1");
    return !query.bind(task_id, optimizer).next();
  });
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

bool Store::remove_study(std::int64_t study_id, bool force) {
  return impl_->writing([&] {
    if (!force && impl_->progress(study_id).leased > 0) return false;
    impl_->query("DELETE FROM study WHERE id = ?").bind(study_id).run();
    return true;
  });
}

std::filesystem::path Store::rescue() const {
  return impl_->guarded([&] { return impl_->rescue(); });
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
