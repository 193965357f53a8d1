// SPDX-License-Identifier: MIT
// Members and points as rows: the bulk of a store.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <unordered_map>

#include "store/impl.h"
#include "train/outline.h"

namespace tandem::store {
namespace {

std::vector<std::string> point_columns() {
  std::vector<std::string> names;
  train::for_each_point_field([&](auto field) { names.emplace_back(field.name); });
  return names;
}

/// Of neighbours by their ids.
std::string select_points(const char* which) {
  return fmt::format(
      "SELECT member_id, {} FROM tandem.point WHERE member_id BETWEEN $1 AND $2 {} "
      "ORDER BY member_id, place",
      fmt::join(point_columns(), ", "), which);
}

/// From column 1.
train::Point point_at(const Query& rows) {
  train::Point point;
  int column = 1;
  train::for_each_point_field([&](auto field) {
    if constexpr (field.kCounts) {
      point.*field.member = rows.count(column++);
    } else {
      point.*field.member = rows.number(column++);
    }
  });
  return point;
}

/// id, optimizer, method, ... of tables named as they are here.
constexpr const char* kMemberColumns =
    "member.id, member.optimizer, method, baseline, options, member.seed, member.phase, diverged, "
    "diverged_at, pruned, state_bytes";

MemberRow member_at(const Query& rows) {
  return {.id = rows.integer(0),
          .optimizer = rows.text(1),
          .method = rows.text(2),
          .baseline = rows.integer(3) != 0,
          .options = nlohmann::json::parse(rows.text(4)).get<OptionMap>(),
          .seed = rows.count(5),
          .phase = phase_of(rows.text(6)),
          .diverged = rows.integer(7) != 0,
          .diverged_at = rows.count(8),
          .pruned = rows.integer(9) != 0,
          .state_bytes = rows.count(10),
          .points = {}};
}

std::vector<MemberRow> all_members(Query& rows) {
  std::vector<MemberRow> members;
  while (rows.next()) members.push_back(member_at(rows));
  return members;
}

}  // namespace

void Store::Impl::insert_members(std::int64_t unit_id, const std::vector<MemberRow>& members) {
  if (members.empty()) return;
  Rows rows("member", {"unit_id", "place", "optimizer", "method", "baseline", "options", "seed",
                       "phase", "diverged", "diverged_at", "pruned", "state_bytes"});
  std::int64_t place = 0;
  for (const MemberRow& member : members) {
    rows.add(unit_id, place++, member.optimizer, member.method, member.baseline,
             nlohmann::json(member.options).dump(), member.seed, phase_name(member.phase),
             member.diverged, member.diverged_at, member.pruned, member.state_bytes);
  }
  connection->insert(rows);

  constexpr std::size_t kAtOnce = 2000;
  std::vector<std::string> columns = point_columns();
  columns.insert(columns.begin(), {"member_id", "place", "outline"});
  Rows points("point", columns);
  const auto flush = [&] {
    connection->insert(points);
    points.clear();
  };
  Query ids = query("SELECT id FROM tandem.member WHERE unit_id = $1 ORDER BY place");
  ids.bind(unit_id);
  for (const MemberRow& member : members) {
    ids.next();
    const std::int64_t member_id = ids.integer(0);
    const std::vector<bool> outline = train::outline(member.points);
    for (std::size_t i = 0; i < member.points.size(); ++i) {
      std::apply(
          [&](const auto&... field) {
            points.add(member_id, std::uint64_t{i}, bool{outline[i]},
                       member.points[i].*field.member...);
          },
          train::kPointFields);
      if (points.size() == kAtOnce) flush();
    }
  }
  flush();
}

void Store::Impl::finish(std::int64_t study_id, const Unit& unit,
                         const std::vector<MemberRow>& members, std::optional<double> optimum,
                         const Finish& how) {
  query("DELETE FROM tandem.lease WHERE unit_id = $1").bind(unit.id).run();
  query("DELETE FROM tandem.checkpoint WHERE unit_id = $1").bind(unit.id).run();
  query(
      "UPDATE tandem.unit SET done = 1, owner = $1, token = $2, "
      "finished = CASE $3 WHEN -1 THEN tandem.now() ELSE $3 END WHERE id = $4")
      .bind(how.owner, how.token, how.finished, unit.id)
      .run();
  count(study_id, {.done = 1, .members = members.size(), .work_done = unit.work});
  if (optimum) {
    query("UPDATE tandem.task SET optimum = $1 WHERE id = $2").bind(*optimum, unit.task_id).run();
  }
  insert_members(unit.id, members);
}

void Store::Impl::read_points(std::vector<MemberRow>& members, Curves curves) {
  static const std::string kAll = select_points("");
  static const std::string kOutline = select_points("AND outline = 1");
  std::vector<MemberRow*> whole;
  std::vector<MemberRow*> outlined;
  for (MemberRow& member : members) {
    const bool all =
        curves == Curves::all || (curves == Curves::measured && member.phase == Phase::measure);
    (all ? whole : outlined).push_back(&member);
  }
  read_points(whole, kAll);
  if (curves != Curves::none) read_points(outlined, kOutline);
}

/// In slices of neighbours by their ids, so that few statements read many members.
void Store::Impl::read_points(const std::vector<MemberRow*>& members,
                              const std::string& statement) {
  constexpr std::size_t kAtOnce = 500;
  constexpr std::int64_t kGap = 20;  // other members between two of these
  std::unordered_map<std::int64_t, MemberRow*> by_id;
  std::vector<std::int64_t> ids;
  for (MemberRow* member : members) {
    by_id[member->id] = member;
    ids.push_back(member->id);
  }
  std::sort(ids.begin(), ids.end());
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t last = first;
    while (last + 1 < ids.size() && last + 1 - first < kAtOnce &&
           ids[last + 1] - ids[last] <= kGap) {
      ++last;
    }
    Query rows = query(statement);
    rows.bind(ids[first], ids[last]);
    while (rows.next()) {
      const auto member = by_id.find(rows.integer(0));
      if (member != by_id.end()) member->second->points.push_back(point_at(rows));
    }
    first = last + 1;
  }
}

std::vector<MemberRow> Store::Impl::task_members(std::int64_t task_id,
                                                 const std::string& optimizer) {
  static const std::string kText = fmt::format(
      "SELECT {} FROM tandem.unit JOIN tandem.member ON unit_id = unit.id WHERE task_id = $1 AND "
      "done = 1 AND ($2 = '' OR unit.optimizer = $2) ORDER BY unit.place, key, member.place",
      kMemberColumns);
  Query rows = query(kText);
  rows.bind(task_id, optimizer);
  return all_members(rows);
}

std::vector<MemberRow> Store::Impl::unit_members(std::int64_t unit_id) {
  static const std::string kText =
      fmt::format("SELECT {} FROM tandem.member WHERE unit_id = $1 ORDER BY place", kMemberColumns);
  Query rows = query(kText);
  rows.bind(unit_id);
  return all_members(rows);
}

std::optional<std::pair<Task, MemberRow>> Store::Impl::find_member(std::int64_t study_id,
                                                                   std::int64_t member_id) {
  static const std::string kText = fmt::format(
      "SELECT {}, task_id FROM tandem.member JOIN tandem.unit ON unit.id = unit_id "
      "WHERE member.id = $1 AND study_id = $2",
      kMemberColumns);
  Query rows = query(kText);
  if (!rows.bind(member_id, study_id).next()) return std::nullopt;
  std::vector<MemberRow> member = {member_at(rows)};
  read_points(member, Curves::all);
  for (Task& task : tasks(study_id)) {
    if (task.id == rows.integer(11)) return std::pair(std::move(task), std::move(member[0]));
  }
  return std::nullopt;
}

}  // namespace tandem::store
