// SPDX-License-Identifier: MIT
// The run store: what studies planned and what their runs gave, which several processes share and
// which survives the death of any of them: in one SQLite file, for the processes of a machine, or in
// a PostgreSQL database, for those of many. docs/store.md has the schema.
//
// A file is in WAL mode with synchronous=FULL. With NORMAL a power cut never damages the file
// either, but may take back the last commits; with FULL a unit that finish() reported is on the
// disk. Units take seconds to hours, an fsync takes milliseconds: durability is free here.
#pragma once

#include <tandem/registry.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "train/trainer.h"

namespace tandem::store {

/// The store cannot be used: missing, damaged, written by a newer version, read-only, on a full
/// disk, or of another study. The message names the file, what was found and what to do.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is no store at that place.
class NoStore : public StoreError {
 public:
  using StoreError::StoreError;
};

/// Somebody removed the study that is worked on. Nothing was written.
class StudyRemoved : public StoreError {
 public:
  using StoreError::StoreError;
};

/// The file is not where it was opened any more: removed, moved or replaced. Nothing was written;
/// Store::rescue() saves what it held.
class StoreMoved : public StoreError {
 public:
  using StoreError::StoreError;
};

// Members have initializers so that whoever makes one names only what it has.
struct Study {
  std::int64_t id = 0;    // given by the store, here and below; never given twice
  std::string uid = {};   // random, given by the store: no other study has it, here or elsewhere
  std::string name = {};  // unique in a store
  std::string text = {};  // the study file in its canonical form, without versions
  std::string fingerprint = {};
  std::string version = {};  // of the program
  std::string target = {};   // of the CPU: bits are the same only on one
  std::string machine = {};
  std::string command = {};  // reproduces it
  std::int64_t created = 0;  // seconds since 1970; 0: now
  bool pruned = false;
  std::size_t epochs = 0;
  std::uint64_t tune_seed = 0;
  std::vector<std::uint64_t> seeds = {};
};

struct Task {
  std::int64_t id = 0;
  std::int64_t study_id = 0;
  std::string key = {};  // unique in the study
  std::string data = {};
  std::string model = {};
  double lambda = 0;
  std::size_t batch = 0;
  std::size_t samples = 0;
  std::size_t dimension = 0;
  std::string data_hash = {};
  std::string facts = "{}";            // JSON: what the recipe did, how training started, ...
  std::optional<double> optimum = {};  // F*, for convex tasks
};

enum class Phase {
  tune,
  measure,
  optimum,  // finds F* of a task: no members
};

/// A unit of work: what one process trains at a time, and what is there whole or not at all.
struct Unit {
  std::int64_t id = 0;
  std::int64_t task_id = 0;
  std::string key = {};  // unique in the study
  std::string optimizer = {};
  Phase phase = Phase::tune;
  std::uint64_t seed = 0;
  std::string members = {};  // JSON of whoever plans: what to train
  // Units are leased and read in this order, equals by key. Absent: after all that are there. Who
  // adds units when others are done names the places, or the order depends on who was first.
  std::optional<std::int64_t> place = {};
  double work = 0;    // for Progress::work_done, in the planner's measure
  bool done = false;  // told by the store
};

/// A unit in the hands of a process. The token is random and new with every lease: whoever writes
/// shows it, so that nobody writes to a unit that is somebody else's by now.
struct Lease {
  Unit unit = {};
  std::int64_t study_id = 0;
  std::string owner = {};
  std::string token = {};
};

/// What became of one member of a population.
struct MemberRow {
  std::int64_t id = 0;
  std::string optimizer = {};  // label, unique in the study
  std::string method = {};
  bool baseline = false;
  OptionMap options = {};  // every option, resolved
  std::uint64_t seed = 0;
  Phase phase = Phase::tune;
  bool diverged = false;
  std::uint64_t diverged_at = 0;
  bool pruned = false;
  std::size_t state_bytes = 0;
  std::vector<train::Point> points = {};  // doubles keep their bits; a NaN stays a NaN
};

/// Which points of runs are read. The outline (train/outline.h) says how a run ended, in a few points
/// whatever its length; of runs of older versions it is all of them.
enum class Curves {
  none,
  outline,
  measured,  // the outline of what tuned, and all of what was measured: what a report shows
  all,
};

/// What a process at work on a study says of itself, for those who look on. No result, and gone
/// when the process is.
struct Worker {
  std::string owner = {};
  std::int64_t began = 0;  // seconds since 1970; told by the store, as the next
  std::int64_t updated = 0;
  double part = 0;                          // of the whole study, by work
  std::optional<double> seconds_left = {};  // as it sees them, if it can tell
  std::string doing = {};
  std::string curve = "{}";  // JSON: the best member in training, its losses so far
  std::string machine = {};
  std::string target = {};  // of the CPU
};

/// How far a study is. Costs the same for any number of units.
struct Progress {
  std::size_t units = 0;
  std::size_t done = 0;
  std::size_t leased = 0;  // in the hands of a live owner
  std::size_t tasks = 0;
  std::size_t members = 0;    // of finished units
  double work_done = 0;       // the sum of Unit::work of finished units
  std::int64_t revision = 0;  // grows whenever what is stored of the study changes
};

/// Counts of all that a study has.
struct Totals {
  std::size_t tasks = 0;
  std::size_t members = 0;
  std::size_t points = 0;
};

/// What a merge added.
struct Merged {
  std::size_t studies = 0;
  std::size_t units = 0;  // finished ones
  std::size_t members = 0;
};

/// One connection to a store, for one thread at a time; other threads and processes open their
/// own, and wait for each other. Must not be carried over a fork(). All calls throw StoreError.
///
/// Calls that name a study by its id throw StudyRemoved where it is not there any more.
class Store {
 public:
  /// `read` changes nothing; a file of an older version is brought up to date in memory. `write`
  /// makes the store, or brings it up to date. The location is the path of a file, or the URL of a
  /// PostgreSQL database, postgresql://[USER@]HOST[:PORT]/DATABASE.
  enum class Mode { read, write };
  static Store open(const std::string& location, Mode mode);
  static bool exists(const std::string& location);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Where it is, for people.
  std::string name() const;
  /// Whether it is a copy in memory, which does not see what others write from now on.
  bool is_copy() const;

  /// The study of that name, added if it is new. Throws if the one that is there differs in what
  /// results depend on: the text, the fingerprint, the CPU target, seeds, epochs, or, when any
  /// unit of it is done, the program's version; the message shows both sides.
  Study ensure_study(const Study& study);
  /// Likewise, all or none of them; other data under the same key is an error that names both
  /// hashes.
  std::vector<Task> ensure_tasks(const std::vector<Task>& tasks);
  Task ensure_task(const Task& task) { return ensure_tasks({task}).front(); }
  /// Adds those whose keys are new, all or none.
  void add_units(std::int64_t study_id, const std::vector<Unit>& units);

  /// The first unit that is neither done nor leased by a live owner becomes this owner's for some
  /// seconds; none if there is no such unit. With a key, that unit alone. A lease ends by time, or
  /// at once when its owner, named by this_owner(), was a process of this machine that is no more.
  std::optional<Lease> lease(std::int64_t study_id, const std::string& owner, int seconds,
                             const std::string& key = {});
  /// Puts off the lease's end to so many seconds from now; false if it is somebody else's by now.
  bool renew(const Lease& lease, int seconds);
  /// Writes all that a unit gave and marks it done, in one transaction; durable on return. `optimum`
  /// is F* of its task. False, with nothing written, if the lease ran out and another process took
  /// the unit, or if it is done. A lease that ran out and that nobody took does no harm.
  bool finish(const Lease& lease, const std::vector<MemberRow>& members,
              std::optional<double> optimum = {});
  /// Gives the lease back; nothing happens if it is somebody else's by now.
  void release(const Lease& lease);

  /// Keeps how far the unit is, for whoever takes it next, instead of what was kept before; gone
  /// when the unit is done. False, with nothing written, if the unit is somebody else's by now.
  bool keep_checkpoint(const Lease& lease, const std::string& bytes);
  /// Of the lease's unit; none if nothing was kept.
  std::optional<std::string> checkpoint(const Lease& lease) const;

  /// Says how far this process is; what it said before is forgotten.
  void tell(std::int64_t study_id, const Worker& worker);
  /// Takes it back: the process is done, or no more.
  void untell(std::int64_t study_id, const std::string& owner);
  /// Those that are at work, by all that can be known.
  std::vector<Worker> workers(std::int64_t study_id) const;

  Progress progress(std::int64_t study_id) const;
  Totals totals(std::int64_t study_id) const;
  std::vector<Study> studies() const;  // in the order of their names
  std::optional<Study> find_study(const std::string& name) const;
  std::vector<Task> tasks(std::int64_t study_id) const;  // in the order they were added
  std::vector<Unit> units(std::int64_t study_id) const;
  /// Whether every unit that tunes this optimizer is done.
  bool is_tuned(std::int64_t task_id, const std::string& optimizer) const;
  /// In the order of units and of members within them, whoever wrote first. Of one optimizer where
  /// it is named.
  std::vector<MemberRow> members(std::int64_t task_id, Curves curves,
                                 const std::string& optimizer = {}) const;

  /// With its points, and the task that it is of.
  std::optional<std::pair<Task, MemberRow>> find_member(std::int64_t study_id,
                                                        std::int64_t member_id) const;

  /// With all that belongs to it. Without `force` only if no process is at work on it: false, with
  /// nothing removed, otherwise.
  bool remove_study(std::int64_t study_id, bool force);
  /// Adds the other store's studies that are new, and to those that are in both the finished units
  /// that are missing here; all or nothing. Throws if a study of the same name is another one.
  Merged merge(const std::string& other);

  /// After StoreMoved: writes all that the store held to a new file beside the place where it was
  /// opened, or, if that folder is gone, in the folder for temporary files; gives its path.
  std::filesystem::path rescue() const;

  /// Called now and then while a call waits for a server to come back; what it throws ends the wait.
  /// That the server is gone, and that it is back, is said on standard error.
  void while_waiting(const std::function<void()>& ask);

  struct Impl;  // known inside the module only
  explicit Store(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// The name of this process as an owner of leases: host, process, when it started, and the machine.
std::string this_owner();

}  // namespace tandem::store
