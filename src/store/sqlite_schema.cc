// SPDX-License-Identifier: MIT
#include "store/sqlite_schema.h"

#include <fmt/format.h>

#include <array>

#include "store/schema.h"

namespace tandem::store {
namespace {

// A step is never changed once a release has it; a change of the tables is a new step, here and in
// postgres_schema.cc. A new file takes all of them, so that it is the same as one that grew old.
//
// Columns of doubles have no type: with REAL, SQLite keeps whole numbers as integers, and -0.0
// comes back as 0.0. It has no NaN: that is NULL. Seeds and counts are 64 bits with a sign.
constexpr std::array kSteps = {
    // Version 1, the first inside the project; no release wrote it.
    R"sql(
CREATE TABLE study (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  version TEXT NOT NULL,
  target TEXT NOT NULL,
  machine TEXT NOT NULL,
  command TEXT NOT NULL,
  created INTEGER NOT NULL,
  pruned INTEGER NOT NULL,
  epochs INTEGER NOT NULL,
  tune_seed INTEGER NOT NULL,
  seeds TEXT NOT NULL
);
CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
  key TEXT NOT NULL,
  data TEXT NOT NULL,
  model TEXT NOT NULL,
  lambda NOT NULL,
  batch INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  data_hash TEXT NOT NULL,
  facts TEXT NOT NULL,
  optimum,
  UNIQUE (study_id, key)
);
CREATE TABLE unit (
  id INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
  task_id INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  key TEXT NOT NULL,
  place INTEGER NOT NULL,
  optimizer TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('tune', 'measure')),
  seed INTEGER NOT NULL,
  members TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_end INTEGER,
  UNIQUE (study_id, key)
);
CREATE INDEX unit_of_task ON unit (task_id, place, key);
CREATE INDEX unit_to_do ON unit (study_id, place, key) WHERE done = 0;
CREATE TABLE member (
  id INTEGER PRIMARY KEY,
  unit_id INTEGER NOT NULL REFERENCES unit ON DELETE CASCADE,
  place INTEGER NOT NULL,
  optimizer TEXT NOT NULL,
  method TEXT NOT NULL,
  baseline INTEGER NOT NULL,
  options TEXT NOT NULL,
  seed INTEGER NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('tune', 'measure')),
  diverged INTEGER NOT NULL,
  diverged_at INTEGER NOT NULL,
  state_bytes INTEGER NOT NULL,
  UNIQUE (unit_id, place)
);
CREATE TABLE point (
  member_id INTEGER NOT NULL REFERENCES member ON DELETE CASCADE,
  place INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  step INTEGER NOT NULL,
  gradient_evaluations INTEGER NOT NULL,
  seconds,
  train_loss,
  validation_loss,
  validation_accuracy,
  estimator_error,
  batch_error,
  delta,
  distance,
  PRIMARY KEY (member_id, place)
) WITHOUT ROWID;
)sql",
    // Version 2: successive halving marks its members; when a unit was done.
    R"sql(
ALTER TABLE member ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE unit ADD COLUMN finished INTEGER;
)sql",
    // Version 3: the estimator's residual; what processes at work say of themselves.
    R"sql(
ALTER TABLE point ADD COLUMN residual;
CREATE TABLE worker (
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
  owner TEXT NOT NULL,
  began INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  part NOT NULL,
  seconds_left,
  doing TEXT NOT NULL,
  curve TEXT NOT NULL,
  PRIMARY KEY (study_id, owner)
) WITHOUT ROWID;
)sql",
    // Version 4: ids are never given twice (AUTOINCREMENT), leases have tokens and a table of their
    // own, a study counts its units, F* is a unit of work. Foreign keys must be off, or dropping a
    // table would empty those that refer to it.
    R"sql(
CREATE TABLE new_study (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uid TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  version TEXT NOT NULL,
  target TEXT NOT NULL,
  machine TEXT NOT NULL,
  command TEXT NOT NULL,
  created INTEGER NOT NULL,
  pruned INTEGER NOT NULL,
  epochs INTEGER NOT NULL,
  tune_seed INTEGER NOT NULL,
  seeds TEXT NOT NULL
);
-- Apart from the study, whose text may be megabytes and would be written again with each unit.
CREATE TABLE tally (
  study_id INTEGER PRIMARY KEY REFERENCES study ON DELETE CASCADE,
  revision INTEGER NOT NULL DEFAULT 0,
  tasks INTEGER NOT NULL DEFAULT 0,
  units INTEGER NOT NULL DEFAULT 0,
  done INTEGER NOT NULL DEFAULT 0,
  members INTEGER NOT NULL DEFAULT 0,
  work_done NOT NULL DEFAULT 0.0
);
INSERT INTO new_study (id, uid, name, text, fingerprint, version, target, machine, command,
                       created, pruned, epochs, tune_seed, seeds)
  SELECT id, lower(hex(randomblob(16))), name, text, fingerprint, version, target, machine, command,
         created, pruned, epochs, tune_seed, seeds
  FROM study;
INSERT INTO tally (study_id, tasks, units, done, members)
  SELECT id,
         (SELECT count(*) FROM task WHERE study_id = study.id),
         (SELECT count(*) FROM unit WHERE study_id = study.id),
         (SELECT count(*) FROM unit WHERE study_id = study.id AND done = 1),
         (SELECT count(*) FROM unit JOIN member ON unit_id = unit.id WHERE study_id = study.id)
  FROM study;
DROP TABLE study;
ALTER TABLE new_study RENAME TO study;

CREATE TABLE new_task (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
  key TEXT NOT NULL,
  data TEXT NOT NULL,
  model TEXT NOT NULL,
  lambda NOT NULL,
  batch INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  data_hash TEXT NOT NULL,
  facts TEXT NOT NULL,
  optimum,
  UNIQUE (study_id, key)
);
INSERT INTO new_task SELECT * FROM task;
DROP TABLE task;
ALTER TABLE new_task RENAME TO task;

CREATE TABLE new_unit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
  task_id INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  key TEXT NOT NULL,
  place INTEGER NOT NULL,
  optimizer TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('tune', 'measure', 'optimum')),
  seed INTEGER NOT NULL,
  members TEXT NOT NULL,
  work NOT NULL DEFAULT 0.0,
  done INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  finished INTEGER,
  UNIQUE (study_id, key)
);
INSERT INTO new_unit (id, study_id, task_id, key, place, optimizer, phase, seed, members, done,
                      owner, finished)
  SELECT id, study_id, task_id, key, place, optimizer, phase, seed, members, done,
         CASE done WHEN 1 THEN owner END, finished FROM unit;
DROP TABLE unit;
ALTER TABLE new_unit RENAME TO unit;
CREATE INDEX unit_of_task ON unit (task_id, place, key);
CREATE INDEX unit_in_order ON unit (study_id, place, key);
CREATE INDEX unit_to_do ON unit (study_id, place, key) WHERE done = 0;
CREATE INDEX unit_to_tune ON unit (task_id, optimizer) WHERE done = 0 AND phase = 'tune';

CREATE TABLE new_member (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  unit_id INTEGER NOT NULL REFERENCES unit ON DELETE CASCADE,
  place INTEGER NOT NULL,
  optimizer TEXT NOT NULL,
  method TEXT NOT NULL,
  baseline INTEGER NOT NULL,
  options TEXT NOT NULL,
  seed INTEGER NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('tune', 'measure')),
  diverged INTEGER NOT NULL,
  diverged_at INTEGER NOT NULL,
  state_bytes INTEGER NOT NULL,
  pruned INTEGER NOT NULL DEFAULT 0,
  UNIQUE (unit_id, place)
);
INSERT INTO new_member SELECT * FROM member;
DROP TABLE member;
ALTER TABLE new_member RENAME TO member;

CREATE TABLE lease (
  token TEXT PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
  unit_id INTEGER NOT NULL UNIQUE REFERENCES unit ON DELETE CASCADE,
  owner TEXT NOT NULL,
  ends INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX lease_of_study ON lease (study_id);
)sql",
    // Version 5: the training loss without its regulariser, and |w|^2.
    R"sql(
ALTER TABLE point ADD COLUMN data_loss;
ALTER TABLE point ADD COLUMN squared_norm;
)sql",
    // Version 6: the lease under which a unit was done, by which its writer knows it.
    R"sql(
ALTER TABLE unit ADD COLUMN token TEXT;
)sql",
    // Version 7: which points are of their run's outline. Those of older versions all are.
    R"sql(
ALTER TABLE point ADD COLUMN outline INTEGER NOT NULL DEFAULT 1;
CREATE INDEX point_of_outline ON point (member_id, place) WHERE outline = 1;
)sql",
    // Version 8: how far units are that were given back or are in work, and where workers are.
    R"sql(
CREATE TABLE checkpoint (
  unit_id INTEGER PRIMARY KEY REFERENCES unit ON DELETE CASCADE,
  bytes TEXT NOT NULL
);
ALTER TABLE worker ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE worker ADD COLUMN target TEXT NOT NULL DEFAULT '';
)sql"};
static_assert(kSteps.size() == kSchemaVersion, "postgres_schema.cc has the same versions");

}  // namespace

void migrate(SQLite::Database& database, int from) {
  for (std::size_t step = static_cast<std::size_t>(from); step < kSteps.size(); ++step) {
    database.exec(kSteps[step]);
  }
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
}

}  // namespace tandem::store
