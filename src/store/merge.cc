// SPDX-License-Identifier: MIT
// Takes over what another store has and this one lacks.
#include <map>

#include "store/impl.h"

namespace tandem::store {

Merged Store::Impl::merge(Impl& other) {
  Merged merged;
  for (Study study : other.studies()) {
    if (!find_study(study.name)) ++merged.studies;
    const std::int64_t other_study = study.id;
    study = ensure(study);
    hold_study(study.id);
    std::map<std::int64_t, std::int64_t> task_ids;  // there -> here
    for (Task task : other.tasks(other_study)) {
      const std::int64_t other_task = task.id;
      task.study_id = study.id;
      task_ids[other_task] = ensure(task).id;
    }
    std::vector<Unit> units = other.units(other_study);
    for (Unit& unit : units) unit.task_id = task_ids.at(unit.task_id);
    insert(study.id, units);
    for (Unit& unit : units) {
      if (!unit.done) continue;
      const std::int64_t other_unit = unit.id;
      {
        Query rows = query(
            "SELECT id FROM tandem.unit WHERE study_id = $1 AND key = $2 AND done = 0 FOR UPDATE");
        if (!rows.bind(study.id, unit.key).next()) continue;
        unit.id = rows.integer(0);
      }
      Finish how;
      {
        Query rows = other.query("SELECT owner, finished FROM tandem.unit WHERE id = $1");
        if (rows.bind(other_unit).next()) {
          how = {.owner = rows.text(0), .finished = rows.integer(1)};
        }
      }
      std::vector<MemberRow> members = other.unit_members(other_unit);
      other.read_points(members, Curves::all);
      finish(study.id, unit, members, std::nullopt, how);  // ensure() took F* over
      ++merged.units;
      merged.members += members.size();
    }
  }
  return merged;
}

}  // namespace tandem::store
