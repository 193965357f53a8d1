// SPDX-License-Identifier: MIT
// Members and points as rows: the bulk of a store.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "store/connection.h"

namespace tandem::store {
namespace {

/// "epoch, step, ...", or the same number of question marks.
std::string point_columns(bool as_marks = false) {
  std::string text;
  train::for_each_point_field([&](auto field) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", as_marks ? "?" : field.name);
  });
  return text;
}

const std::string& insert_point() {
  static const std::string kText =
      fmt::format("INSERT INTO point (member_id, place, {}) VALUES (?, ?, {})", point_columns(),
                  point_columns(true));
  return kText;
}

const std::string& select_points() {
  static const std::string kText =
      fmt::format("SELECT {} FROM point WHERE member_id = ? ORDER BY place", point_columns());
  return kText;
}

train::Point point_at(const Query& rows) {
  train::Point point;
  int column = 0;
  train::for_each_point_field([&](auto field) {
    if constexpr (field.kCounts) {
      point.*field.member = rows.count(column++);
    } else {
      point.*field.member = rows.number(column++);
    }
  });
  return point;
}

}  // namespace

void Store::Impl::insert_members(std::int64_t unit_id, const std::vector<MemberRow>& members) {
  std::int64_t place = 0;
  for (const MemberRow& member : members) {
    query(
        "INSERT INTO member (unit_id, place, optimizer, method, baseline, options, seed, phase, "
        "diverged, diverged_at, pruned, state_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(unit_id, place++, member.optimizer, member.method, member.baseline,
              nlohmann::json(member.options).dump(), member.seed, phase_name(member.phase),
              member.diverged, member.diverged_at, member.pruned, member.state_bytes)
        .run();
    const std::int64_t member_id = database->getLastInsertRowid();
    std::int64_t point_place = 0;
    for (const train::Point& point : member.points) {
      Query insert = query(insert_point().c_str());
      std::apply(
          [&](const auto&... field) {
            insert.bind(member_id, point_place++, point.*field.member...);
          },
          train::kPointFields);
      insert.run();
    }
  }
}

void Store::Impl::finish(std::int64_t study_id, const Unit& unit,
                         const std::vector<MemberRow>& members, std::optional<double> optimum,
                         const std::string& owner, std::int64_t finished) {
  query("DELETE FROM lease WHERE unit_id = ?").bind(unit.id).run();
  query("UPDATE unit SET done = 1, owner = ?, finished = ? WHERE id = ?")
      .bind(owner, finished, unit.id)
      .run();
  count(study_id, {.done = 1, .members = members.size(), .work_done = unit.work});
  if (optimum) {
    query("UPDATE task SET optimum = ? WHERE id = ?").bind(*optimum, unit.task_id).run();
  }
  insert_members(unit.id, members);
}

namespace {

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

}  // namespace

void Store::Impl::read_points(MemberRow& member) {
  Query points = query(select_points().c_str());
  points.bind(member.id);
  while (points.next()) member.points.push_back(point_at(points));
}

std::vector<MemberRow> Store::Impl::unit_members(std::int64_t unit_id, bool with_points) {
  Query rows = query(
      "SELECT id, optimizer, method, baseline, options, seed, phase, diverged, diverged_at, "
      "pruned, state_bytes FROM member WHERE unit_id = ? ORDER BY place");
  rows.bind(unit_id);
  std::vector<MemberRow> members;
  while (rows.next()) {
    members.push_back(member_at(rows));
    if (!with_points) continue;
    // Members of a unit have as many points, unless they diverged.
    if (members.size() > 1) {
      members.back().points.reserve(members[members.size() - 2].points.size());
    }
    read_points(members.back());
  }
  return members;
}

std::optional<std::pair<Task, MemberRow>> Store::Impl::find_member(std::int64_t study_id,
                                                                   std::int64_t member_id) {
  Query rows = query(
      "SELECT member.id, member.optimizer, method, baseline, options, member.seed, member.phase, "
      "diverged, diverged_at, pruned, state_bytes, task_id FROM member JOIN unit ON "
      "unit.id = unit_id WHERE member.id = ? AND study_id = ?");
  if (!rows.bind(member_id, study_id).next()) return std::nullopt;
  MemberRow member = member_at(rows);
  read_points(member);
  for (Task& task : tasks(study_id)) {
    if (task.id == rows.integer(11)) return std::pair(std::move(task), std::move(member));
  }
  return std::nullopt;
}

}  // namespace tandem::store
