// SPDX-License-Identifier: MIT
// Takes over what another store has and this one lacks.
#include <map>

#include "store/connection.h"

namespace tandem::store {

Merged Store::Impl::merge(Impl& other) {
  Merged merged;
  for (Study study : other.studies()) {
    if (!find_study(study.name)) ++merged.studies;
    const std::int64_t other_study = study.id;
    study = ensure(study);
    std::map<std::int64_t, std::int64_t> task_ids;  // there -> here
    for (Task task : other.tasks(other_study)) {
      const std::int64_t other_task = task.id;
      task.study_id = study.id;
      task_ids[other_task] = ensure(task).id;
    }
    for (const Unit& unit : other.units(other_study)) {
      Unit here = unit;
      here.task_id = task_ids.at(unit.task_id);
      insert(study.id, here);
      if (!unit.done) continue;
      {
        Query rows = query("SELECT id FROM unit WHERE study_id = ? AND key = ? AND done = 0");
        if (!rows.bind(study.id, unit.key).next()) continue;
        here.id = rows.integer(0);
      }
      std::string owner;
      std::int64_t finished = 0;
      {
        Query rows = other.query("SELECT owner, finished FROM unit WHERE id = ?");
        if (rows.bind(unit.id).next()) {
          owner = rows.text(0);
          finished = rows.integer(1);
        }
      }
      const std::vector<MemberRow> members = other.unit_members(unit.id, true);
      finish(study.id, here, members, std::nullopt, owner, finished);  // ensure() took F* over
      ++merged.units;
      merged.members += members.size();
    }
  }
  return merged;
}

}  // namespace tandem::store
