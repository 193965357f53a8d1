// SPDX-License-Identifier: MIT
#include "store/postgres_schema.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "store/schema.h"

namespace tandem::store {
namespace {

// The first version that PostgreSQL has: in files, others came before it (sqlite_schema.cc).
constexpr int kFirst = 6;

// A step is never changed once a release has it; a change of the tables is a new step, here and in
// sqlite_schema.cc. Statements end with a semicolon at the end of a line.
//
// Text is compared by its bytes (COLLATE "C"), so that the order of names is that of files. A NaN is
// NULL. Tables whose rows change all the time leave room in their pages for the next states, and
// are tidied up after a number of changes, not after a part of their rows.
constexpr std::array kSteps = {
    R"sql(
CREATE FUNCTION tandem.now() RETURNS bigint LANGUAGE sql VOLATILE AS
  'SELECT floor(extract(epoch FROM clock_timestamp()))::bigint';
CREATE TABLE tandem.store (
  application text NOT NULL CHECK (application = 'tandem'),
  version bigint NOT NULL,
  uid text NOT NULL
);
CREATE TABLE tandem.study (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uid text COLLATE "C" NOT NULL UNIQUE,
  name text COLLATE "C" NOT NULL UNIQUE,
  text text NOT NULL,
  fingerprint text NOT NULL,
  version text NOT NULL,
  target text NOT NULL,
  machine text NOT NULL,
  command text NOT NULL,
  created bigint NOT NULL,
  pruned bigint NOT NULL,
  epochs bigint NOT NULL,
  tune_seed bigint NOT NULL,
  seeds text NOT NULL
);
CREATE TABLE tandem.tally (
  study_id bigint PRIMARY KEY REFERENCES tandem.study ON DELETE CASCADE,
  revision bigint NOT NULL DEFAULT 0,
  tasks bigint NOT NULL DEFAULT 0,
  units bigint NOT NULL DEFAULT 0,
  done bigint NOT NULL DEFAULT 0,
  members bigint NOT NULL DEFAULT 0,
  work_done float8 NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
CREATE TABLE tandem.task (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  study_id bigint NOT NULL REFERENCES tandem.study ON DELETE CASCADE,
  key text COLLATE "C" NOT NULL,
  data text NOT NULL,
  model text NOT NULL,
  lambda float8 NOT NULL,
  batch bigint NOT NULL,
  samples bigint NOT NULL,
  dimension bigint NOT NULL,
  data_hash text NOT NULL,
  facts text NOT NULL,
  optimum float8,
  UNIQUE (study_id, key)
);
CREATE TABLE tandem.unit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  study_id bigint NOT NULL REFERENCES tandem.study ON DELETE CASCADE,
  task_id bigint NOT NULL REFERENCES tandem.task ON DELETE CASCADE,
  key text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  optimizer text COLLATE "C" NOT NULL,
  phase text NOT NULL CHECK (phase IN ('tune', 'measure', 'optimum')),
  seed bigint NOT NULL,
  members text NOT NULL,
  work float8 NOT NULL DEFAULT 0,
  done bigint NOT NULL DEFAULT 0,
  owner text,
  finished bigint,
  token text,
  UNIQUE (study_id, key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX unit_of_task ON tandem.unit (task_id, place, key);
CREATE INDEX unit_in_order ON tandem.unit (study_id, place, key);
CREATE INDEX unit_to_do ON tandem.unit (study_id, place, key) WHERE done = 0;
CREATE INDEX unit_to_tune ON tandem.unit (task_id, optimizer) WHERE done = 0 AND phase = 'tune';
CREATE TABLE tandem.member (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  unit_id bigint NOT NULL REFERENCES tandem.unit ON DELETE CASCADE,
  place bigint NOT NULL,
  optimizer text COLLATE "C" NOT NULL,
  method text NOT NULL,
  baseline bigint NOT NULL,
  options text NOT NULL,
  seed bigint NOT NULL,
  phase text NOT NULL CHECK (phase IN ('tune', 'measure')),
  diverged bigint NOT NULL,
  diverged_at bigint NOT NULL,
  pruned bigint NOT NULL,
  state_bytes bigint NOT NULL,
  UNIQUE (unit_id, place)
);
CREATE TABLE tandem.point (
  member_id bigint NOT NULL REFERENCES tandem.member ON DELETE CASCADE,
  place bigint NOT NULL,
  epoch bigint NOT NULL,
  step bigint NOT NULL,
  gradient_evaluations bigint NOT NULL,
  seconds float8,
  train_loss float8,
  validation_loss float8,
  validation_accuracy float8,
  residual float8,
  delta float8,
  estimator_error float8,
  batch_error float8,
  distance float8,
  data_loss float8,
  squared_norm float8,
  PRIMARY KEY (member_id, place)
);
CREATE TABLE tandem.lease (
  token text COLLATE "C" PRIMARY KEY,
  study_id bigint NOT NULL REFERENCES tandem.study ON DELETE CASCADE,
  unit_id bigint NOT NULL UNIQUE REFERENCES tandem.unit ON DELETE CASCADE,
  owner text NOT NULL,
  ends bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX lease_of_study ON tandem.lease (study_id);
CREATE TABLE tandem.worker (
  study_id bigint NOT NULL REFERENCES tandem.study ON DELETE CASCADE,
  owner text COLLATE "C" NOT NULL,
  began bigint NOT NULL,
  updated bigint NOT NULL,
  part float8 NOT NULL,
  seconds_left float8,
  doing text NOT NULL,
  curve text NOT NULL,
  PRIMARY KEY (study_id, owner)
) WITH (fillfactor = 50);
INSERT INTO tandem.store VALUES ('tandem', 6, replace(gen_random_uuid()::text, '-', ''));
)sql",
    // Version 7: which points are of their run's outline. Those of older versions all are.
    R"sql(
ALTER TABLE tandem.point ADD COLUMN outline bigint NOT NULL DEFAULT 1;
CREATE INDEX point_of_outline ON tandem.point (member_id, place) WHERE outline = 1;
)sql",
    // Version 8: how far units are that were given back or are in work, and where workers are.
    R"sql(
CREATE TABLE tandem.checkpoint (
  unit_id bigint PRIMARY KEY REFERENCES tandem.unit ON DELETE CASCADE,
  bytes text NOT NULL
);
ALTER TABLE tandem.worker ADD COLUMN machine text NOT NULL DEFAULT '';
ALTER TABLE tandem.worker ADD COLUMN target text NOT NULL DEFAULT '';
)sql"};
static_assert(kFirst + kSteps.size() - 1 == kSchemaVersion, "sqlite_schema.cc has the same");

}  // namespace

std::vector<std::string> postgres_migration(int from) {
  std::vector<std::string> statements;
  for (std::size_t step = from < kFirst ? 0 : static_cast<std::size_t>(from - kFirst) + 1;
       step < kSteps.size(); ++step) {
    std::string_view rest = kSteps[step];
    for (std::size_t end = rest.find(";\n"); end != std::string_view::npos;
         end = rest.find(";\n")) {
      statements.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end + 2);
    }
  }
  statements.push_back(fmt::format("UPDATE tandem.store SET version = {}", kSchemaVersion));
  return statements;
}

}  // namespace tandem::store
