// SPDX-License-Identifier: MIT
#include "store/schema.h"

#include <fmt/format.h>

#include <array>

namespace tandem::store {
namespace {

// A step is never changed once a release has it; a change of the tables is a new step. A new file
// takes all of them, so that it is the same as one that grew old.
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
)sql"};

}  // namespace

int schema_version() { return static_cast<int>(kSteps.size()); }

void migrate(SQLite::Database& database, int from) {
  for (std::size_t step = static_cast<std::size_t>(from); step < kSteps.size(); ++step) {
    database.exec(kSteps[step]);
  }
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", schema_version()));
}

}  // namespace tandem::store
