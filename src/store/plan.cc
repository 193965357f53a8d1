// SPDX-License-Identifier: MIT
// Studies, tasks and units as rows, and what makes a study the same as the one in the store.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/shell_word.h"
#include "base/token.h"
#include "store/impl.h"

namespace tandem::store {
namespace {

/// Collects what differs between what the store has and what is asked for.
class Differences {
 public:
  template <typename T>
  void compare(std::string_view what, const T& stored, const T& given) {
    if (stored == given) return;
    add(fmt::format("{}: the store has {}, found {}", what, stored, given));
  }
  /// Of long texts the first line that differs.
  void compare_lines(std::string_view what, const std::string& stored, const std::string& given) {
    if (stored == given) return;
    std::istringstream left(stored);
    std::istringstream right(given);
    std::string ours;
    std::string theirs;
    std::size_t line = 0;
    do {
      ++line;
      if (!std::getline(left, ours)) ours = "(end)";
      if (!std::getline(right, theirs)) theirs = "(end)";
    } while (ours == theirs && (left || right));
    add(fmt::format("{}, line {}: the store has '{}', found '{}'", what, line, cut(ours),
                    cut(theirs)));
  }
  bool any() const { return !text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  static std::string cut(const std::string& line) {
    constexpr std::size_t kMost = 200;
    return line.size() > kMost ? line.substr(0, kMost) + "..." : line;
  }
  void add(const std::string& line) { text_ += (text_.empty() ? "" : "; ") + line; }

  std::string text_;
};

std::string list(const std::vector<std::uint64_t>& seeds) { return nlohmann::json(seeds).dump(); }

Study study_at(const Query& query) {
  return {.id = query.integer(0),
          .uid = query.text(1),
          .name = query.text(2),
          .text = query.text(3),
          .fingerprint = query.text(4),
          .version = query.text(5),
          .target = query.text(6),
          .machine = query.text(7),
          .command = query.text(8),
          .created = query.integer(9),
          .pruned = query.integer(10) != 0,
          .epochs = query.count(11),
          .tune_seed = query.count(12),
          .seeds = nlohmann::json::parse(query.text(13)).get<std::vector<std::uint64_t>>()};
}

Task task_at(const Query& query) {
  return {.id = query.integer(0),
          .study_id = query.integer(1),
          .key = query.text(2),
          .data = query.text(3),
          .model = query.text(4),
          .lambda = query.number(5),
          .batch = query.count(6),
          .samples = query.count(7),
          .dimension = query.count(8),
          .data_hash = query.text(9),
          .facts = query.text(10),
          .optimum = query.null(11) ? std::nullopt : std::optional(query.number(11))};
}

}  // namespace

Unit unit_at(const Query& query) {
  return {.id = query.integer(0),
          .task_id = query.integer(1),
          .key = query.text(2),
          .optimizer = query.text(3),
          .phase = phase_of(query.text(4)),
          .seed = query.count(5),
          .members = query.text(6),
          .place = query.integer(7),
          .work = query.number(8),
          .done = query.integer(9) != 0};
}

// ---- Studies ------------------------------------------------------------------------------------

std::vector<Study> Store::Impl::studies() {
  Query rows = query(
      "SELECT id, uid, name, text, fingerprint, version, target, machine, command, created, "
      "pruned, epochs, tune_seed, seeds FROM tandem.study ORDER BY name");
  std::vector<Study> studies;
  while (rows.next()) studies.push_back(study_at(rows));
  return studies;
}

std::optional<Study> Store::Impl::find_study(const std::string& name) {
  Query rows = query(
      "SELECT id, uid, name, text, fingerprint, version, target, machine, command, created, "
      "pruned, epochs, tune_seed, seeds FROM tandem.study WHERE name = $1");
  rows.bind(name);
  if (!rows.next()) return std::nullopt;
  return study_at(rows);
}

Study Store::Impl::insert(const Study& study) {
  Study added = study;
  added.uid = random_token();
  if (added.created == 0) added.created = now();
  {
    Query row = query(
        "INSERT INTO tandem.study (uid, name, text, fingerprint, version, target, machine, "
        "command, created, pruned, epochs, tune_seed, seeds) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id");
    row.bind(added.uid, added.name, added.text, added.fingerprint, added.version, added.target,
             added.machine, added.command, added.created, added.pruned, added.epochs,
             added.tune_seed, list(added.seeds));
    row.next();
    added.id = row.integer(0);
  }
  query("INSERT INTO tandem.tally (study_id) VALUES ($1)").bind(added.id).run();
  return added;
}

Study Store::Impl::ensure(const Study& study) {
  std::optional<Study> found = find_study(study.name);
  if (!found) return insert(study);
  const bool begun = [&] {
    Query rows = query("SELECT 1 FROM tandem.tally WHERE study_id = $1 AND done > 0 FOR UPDATE");
    return rows.bind(found->id).next();
  }();
  Differences differences;
  differences.compare_lines("text", found->text, study.text);
  differences.compare("seeds", list(found->seeds), list(study.seeds));
  differences.compare("tuning seed", found->tune_seed, study.tune_seed);
  differences.compare("epochs", found->epochs, study.epochs);
  differences.compare("pruned", found->pruned, study.pruned);
  differences.compare("CPU target", found->target, study.target);
  if (begun) differences.compare("version of Tandem", found->version, study.version);
  if (!differences.any()) {
    // Follows from the others where they tell enough.
    differences.compare("fingerprint", found->fingerprint, study.fingerprint);
  }
  if (differences.any()) {
    throw StoreError(fmt::format(
        "{}: the store has another study '{}': {}; use another --store or name, or "
        "remove the old one with `tandem runs rm {} --store {}`",
        name(), study.name, differences.text(), shell_word(study.name), shell_word(name())));
  }
  if (!begun) {
    // Nothing was done by the version that planned it.
    query("UPDATE tandem.study SET version = $1, machine = $2, command = $3 WHERE id = $4")
        .bind(study.version, study.machine, study.command, found->id)
        .run();
    found->version = study.version;
    found->machine = study.machine;
    found->command = study.command;
  }
  return *found;
}

void Store::Impl::throw_removed() const {
  throw StudyRemoved(fmt::format(
      "{}: the study was removed from the store while this process worked on it; nothing was "
      "written",
      name()));
}

// Who needs more than one row locked locks in this order, so that nobody waits in a circle: the
// study's tally, the study, a unit, its lease.
void Store::Impl::hold_study(std::int64_t study_id) {
  Query rows = query("SELECT 1 FROM tandem.tally WHERE study_id = $1 FOR UPDATE");
  if (!rows.bind(study_id).next()) throw_removed();
}

void Store::Impl::keep_study(std::int64_t study_id) {
  Query rows = query("SELECT 1 FROM tandem.study WHERE id = $1 FOR KEY SHARE");
  if (!rows.bind(study_id).next()) throw_removed();
}

void Store::Impl::count(std::int64_t study_id, const Change& change) {
  query(
      "UPDATE tandem.tally SET revision = revision + 1, tasks = tasks + $1, units = units + $2, "
      "done = done + $3, members = members + $4, work_done = work_done + $5 WHERE study_id = $6")
      .bind(change.tasks, change.units, change.done, change.members, change.work_done, study_id)
      .run();
}

// ---- Tasks --------------------------------------------------------------------------------------

std::vector<Task> Store::Impl::tasks(std::int64_t study_id) {
  Query rows = query(
      "SELECT id, study_id, key, data, model, lambda, batch, samples, dimension, data_hash, "
      "facts, optimum FROM tandem.task WHERE study_id = $1 ORDER BY id");
  rows.bind(study_id);
  std::vector<Task> tasks;
  while (rows.next()) tasks.push_back(task_at(rows));
  return tasks;
}

Task Store::Impl::insert(const Task& task) {
  Task added = task;
  {
    Query row = query(
        "INSERT INTO tandem.task (study_id, key, data, model, lambda, batch, samples, dimension, "
        "data_hash, facts, optimum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) "
        "RETURNING id");
    row.bind(task.study_id, task.key, task.data, task.model, task.lambda, task.batch, task.samples,
             task.dimension, task.data_hash, task.facts, task.optimum);
    row.next();
    added.id = row.integer(0);
  }
  count(task.study_id, {.tasks = 1});
  return added;
}

Task Store::Impl::ensure(const Task& task) {
  std::optional<Task> found;
  {
    Query rows = query(
        "SELECT id, study_id, key, data, model, lambda, batch, samples, dimension, data_hash, "
        "facts, optimum FROM tandem.task WHERE study_id = $1 AND key = $2");
    rows.bind(task.study_id, task.key);
    if (rows.next()) found = task_at(rows);
  }
  if (!found) return insert(task);
  Differences differences;
  differences.compare("data", found->data, task.data);
  differences.compare("hash of the data", found->data_hash, task.data_hash);
  differences.compare("model", found->model, task.model);
  differences.compare("lambda", found->lambda, task.lambda);
  differences.compare("batch", found->batch, task.batch);
  differences.compare("samples", found->samples, task.samples);
  differences.compare("dimension", found->dimension, task.dimension);
  if (differences.any()) {
    throw StoreError(fmt::format(
        "{}: task '{}' is not what it was: {}; restore the data, or use another --store", name(),
        task.key, differences.text()));
  }
  if (!found->optimum && task.optimum) {
    query("UPDATE tandem.task SET optimum = $1 WHERE id = $2").bind(*task.optimum, found->id).run();
    count(found->study_id, {});
    found->optimum = task.optimum;
  }
  return *found;
}

// ---- Units --------------------------------------------------------------------------------------

std::vector<Unit> Store::Impl::units(std::int64_t study_id) {
  Query rows = query(
      "SELECT id, task_id, key, optimizer, phase, seed, members, place, work, done FROM "
      "tandem.unit WHERE study_id = $1 ORDER BY place, key");
  rows.bind(study_id);
  std::vector<Unit> units;
  while (rows.next()) units.push_back(unit_at(rows));
  return units;
}

void Store::Impl::insert(std::int64_t study_id, const std::vector<Unit>& units) {
  constexpr std::size_t kAtOnce = 5000;
  Rows rows("unit", {"study_id", "task_id", "key", "place", "optimizer", "phase", "seed", "members",
                     "work"});
  std::size_t added = 0;
  const auto flush = [&] {
    added += connection->insert(rows, "study_id, key");
    rows.clear();
  };
  std::optional<std::int64_t> last;  // after all that are there
  for (const Unit& unit : units) {
    std::optional<std::int64_t> place = unit.place;
    if (!place) {
      {
        Query there = query("SELECT 1 FROM tandem.unit WHERE study_id = $1 AND key = $2");
        if (there.bind(study_id, unit.key).next()) continue;
      }
      if (!last) {
        flush();
        Query most = query("SELECT coalesce(max(place), -1) FROM tandem.unit WHERE study_id = $1");
        most.bind(study_id).next();
        last = most.integer(0);
      }
      place = ++*last;
    } else if (last) {
      last = std::max(*last, *place);
    }
    rows.add(study_id, unit.task_id, unit.key, *place, unit.optimizer, phase_name(unit.phase),
             unit.seed, unit.members, unit.work);
    if (rows.size() == kAtOnce) flush();
  }
  flush();
  if (added > 0) count(study_id, {.units = added});
}

// ---- Words --------------------------------------------------------------------------------------

std::int64_t Store::Impl::now() {
  Query row = query("SELECT tandem.now()");
  row.next();
  return row.integer(0);
}

std::string phase_name(Phase phase) {
  switch (phase) {
    case Phase::tune:
      return "tune";
    case Phase::measure:
      return "measure";
    case Phase::optimum:
      return "optimum";
  }
  return "";
}

Phase phase_of(std::string_view name) {
  if (name == "measure") return Phase::measure;
  return name == "optimum" ? Phase::optimum : Phase::tune;
}

}  // namespace tandem::store
