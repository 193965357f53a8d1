// SPDX-License-Identifier: MIT
// What goes into a store comes out of it; doing it twice is doing it once; leases.
#include "store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/owner.h"
#include "store/test_store.h"

namespace tandem::store {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_P(AnyStore, KeepsAStudyAndItsTasks) {
  Study study = sample_study("Grüße 'n\" 研究; DROP TABLE study; --");
  study.text = std::string("a\0b\n", 4);
  study.pruned = true;
  Task task;
  {
    Store store = write();
    study = store.ensure_study(study);
    task = sample_task(study.id, "it's \"quoted\"");
    task.lambda = -0.0;
    task.optimum = 0.1 + 0.2;
    task = store.ensure_task(task);
  }
  const Store store = read();
  const auto studies = store.studies();
  ASSERT_EQ(studies.size(), 1U);
  const Study& found = studies[0];
  EXPECT_EQ(found.id, study.id);
  EXPECT_EQ(found.name, study.name);
  EXPECT_EQ(found.text, study.text);
  EXPECT_EQ(found.fingerprint, study.fingerprint);
  EXPECT_EQ(found.version, study.version);
  EXPECT_EQ(found.target, study.target);
  EXPECT_EQ(found.machine, study.machine);
  EXPECT_EQ(found.command, study.command);
  EXPECT_EQ(found.created, study.created);
  EXPECT_TRUE(found.pruned);
  EXPECT_EQ(found.epochs, study.epochs);
  EXPECT_EQ(found.tune_seed, study.tune_seed);
  EXPECT_EQ(found.seeds, study.seeds);
  EXPECT_TRUE(store.find_study(study.name).has_value());
  EXPECT_FALSE(store.find_study("other").has_value());

  const auto tasks = store.tasks(study.id);
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].key, task.key);
  EXPECT_EQ(tasks[0].data, task.data);
  EXPECT_EQ(tasks[0].model, task.model);
  EXPECT_TRUE(std::signbit(tasks[0].lambda));
  EXPECT_EQ(tasks[0].batch, task.batch);
  EXPECT_EQ(tasks[0].samples, task.samples);
  EXPECT_EQ(tasks[0].dimension, task.dimension);
  EXPECT_EQ(tasks[0].data_hash, task.data_hash);
  EXPECT_EQ(tasks[0].facts, task.facts);
  EXPECT_EQ(tasks[0].optimum, 0.1 + 0.2);
}

TEST_P(AnyStore, KeepsMembersToTheBit) {
  MemberRow odd = sample_member("1e-3");
  odd.optimizer = "Ädäm 'x' \"y\" \\";
  odd.method = "svrg+adam";
  odd.baseline = false;
  odd.options = {{"lr", "0.1*0.95^epoch"}, {"q\"uote", "'\\\n\t\u00e9"}};
  odd.seed = std::numeric_limits<std::uint64_t>::max();
  odd.phase = Phase::measure;
  odd.diverged = true;
  odd.diverged_at = std::numeric_limits<std::uint64_t>::max() - 1;
  odd.pruned = true;
  odd.points[0] = {.epoch = 0,
                   .step = std::numeric_limits<std::uint64_t>::max(),
                   .gradient_evaluations = 1ULL << 63,
                   .seconds = -0.0,
                   .train_loss = kNaN,
                   .validation_loss = kInfinity,
                   .validation_accuracy = -kInfinity,
                   .residual = -1.0 / 7,
                   .delta = 1.0 / 3,
                   .estimator_error = std::numeric_limits<double>::denorm_min(),
                   .batch_error = std::numeric_limits<double>::max(),
                   .distance = 2};
  const std::vector<MemberRow> members = {sample_member("0.1"), odd, sample_member("0.2", 0)};
  std::int64_t study = 0;
  {
    Store store = write();
    study = plan(store, 1);
    const auto unit = store.lease(study, "me", 60);
    ASSERT_TRUE(unit.has_value());
    EXPECT_TRUE(store.finish(*unit, members));
  }
  const Store store = read();
  const std::int64_t task = store.tasks(study)[0].id;
  const auto found = store.members(task, Curves::all);
  ASSERT_EQ(found.size(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i) expect_same(found[i], members[i]);
  EXPECT_EQ(store.members(task, Curves::none, store.units(study)[0].optimizer).size(),
            members.size());
  EXPECT_TRUE(store.members(task, Curves::none, "nobody").empty());
  const auto bare = store.members(task, Curves::none);
  ASSERT_EQ(bare.size(), members.size());
  EXPECT_TRUE(bare[0].points.empty());
  const Totals totals = store.totals(study);
  EXPECT_EQ(totals.tasks, 1U);
  EXPECT_EQ(totals.members, 3U);
  EXPECT_EQ(totals.points, 6U);
}

TEST_P(AnyStore, ReadsOutlinesOfRuns) {
  MemberRow tuned = sample_member("0.1", 40);
  tuned.points[20].train_loss = -1;
  MemberRow measured = sample_member("0.2", 40);
  measured.phase = Phase::measure;
  Store store = write();
  const std::int64_t study = plan(store, 1);
  EXPECT_TRUE(store.finish(*store.lease(study, "me", 60), {tuned, measured}));
  const std::int64_t task = store.tasks(study)[0].id;
  // The start, the least loss, the end; the first has no loss without lambda's part.
  tuned.points = {tuned.points[0], tuned.points[20], tuned.points[39]};
  const auto shown = store.members(task, Curves::measured);
  ASSERT_EQ(shown.size(), 2U);
  expect_same(shown[0], tuned);
  expect_same(shown[1], measured);
  measured.points = {measured.points[0], measured.points[39]};
  const auto outlines = store.members(task, Curves::outline);
  ASSERT_EQ(outlines.size(), 2U);
  expect_same(outlines[0], tuned);
  expect_same(outlines[1], measured);
}

TEST_P(AnyStore, DoingItTwiceIsDoingItOnce) {
  Store store = write();
  const std::int64_t study = plan(store, 3);
  EXPECT_EQ(plan(store, 5), study);
  EXPECT_EQ(store.studies().size(), 1U);
  EXPECT_EQ(store.tasks(study).size(), 1U);
  const auto units = store.units(study);
  ASSERT_EQ(units.size(), 5U);
  for (std::size_t i = 0; i < units.size(); ++i) {
    EXPECT_EQ(units[i].key, "unit/" + std::to_string(i));
    EXPECT_EQ(units[i].place, static_cast<std::int64_t>(i));
    EXPECT_FALSE(units[i].done);
  }
}

TEST_P(AnyStore, AddsAllUnitsOrNone) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  const std::int64_t task = store.tasks(study)[0].id;
  EXPECT_THROW(store.add_units(study, {sample_unit(task, "good"), sample_unit(-1, "bad")}),
               StoreError);
  EXPECT_EQ(store.units(study).size(), 1U);
}

TEST_P(AnyStore, RefusesAnotherStudyOfTheSameName) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  const auto refused = [&](auto change, const std::vector<std::string>& parts) {
    Study other = sample_study();
    change(other);
    std::vector<std::string> all = {location_, "'kdd'", "--store", "tandem runs rm"};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_error([&] { store.ensure_study(other); }, all);
  };
  refused([](Study& s) { s.text = "name = \"kdd\"\nepochs = 21\n"; },
          {"line 2", "the store has 'epochs = 20'", "found 'epochs = 21'"});
  refused([](Study& s) { s.text += "more\n"; }, {"line 3", "'(end)'", "'more'"});
  refused([](Study& s) { s.fingerprint = "beef"; }, {"f00d", "beef"});
  refused([](Study& s) { s.target = "AVX3"; }, {"CPU target", "AVX2", "AVX3"});
  refused([](Study& s) { s.seeds = {1}; }, {"seeds", "[1]"});
  refused([](Study& s) { s.epochs = 19; }, {"epochs", "20", "19"});

  // The version matters once there are results.
  Study newer = sample_study();
  newer.version = "1.0.1";
  newer.command = "tandem study other.toml";
  EXPECT_EQ(store.ensure_study(newer).version, "1.0.1");
  EXPECT_EQ(store.studies()[0].command, "tandem study other.toml");
  const auto unit = store.lease(study, "me", 60);
  store.finish(*unit, {sample_member()});
  refused([](Study&) {}, {"version", "1.0.1", "1.0.0"});
  EXPECT_EQ(store.ensure_study(newer).id, study);
}

TEST_P(AnyStore, RefusesOtherDataUnderATask) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  Task other = sample_task(study);
  other.data_hash = "fedcba9876543210";
  expect_error([&] { store.ensure_task(other); },
               {location_, "nsl-kdd/logistic", "hash of the data", "0123456789abcdef",
                "fedcba9876543210", "--store"});
  other = sample_task(study);
  other.lambda = 0.97;
  expect_error([&] { store.ensure_task(other); }, {"lambda", "0.023", "0.97"});
  other = sample_task(study);
  other.optimum = 0.5;
  EXPECT_EQ(store.ensure_task(other).optimum, 0.5);
  EXPECT_EQ(store.tasks(study)[0].optimum, 0.5);
}

TEST_P(AnyStore, LeasesInOrderAndOnce) {
  Store store = write();
  const std::int64_t study = plan(store, 2);
  const auto first = store.lease(study, "a", 60);
  const auto second = store.lease(study, "a", 60);  // not the same again, even for the same owner
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->unit.key, "unit/0");
  EXPECT_EQ(first->unit.members, R"([{"lr": "0.1"}])");
  EXPECT_EQ(second->unit.key, "unit/1");
  EXPECT_NE(first->token, second->token);
  EXPECT_FALSE(store.lease(study, "b", 60).has_value());
  EXPECT_EQ(store.progress(study).leased, 2U);

  Lease forged = *second;
  forged.token = "guessed";
  store.release(forged);
  EXPECT_FALSE(store.renew(forged, 60));
  EXPECT_FALSE(store.finish(forged, {sample_member()}));
  forged = *second;
  forged.unit = first->unit;  // the token is of another unit
  EXPECT_FALSE(store.finish(forged, {sample_member()}));
  EXPECT_FALSE(store.lease(study, "b", 60).has_value());
  store.release(*second);
  EXPECT_EQ(store.progress(study).leased, 1U);
  EXPECT_FALSE(store.lease(study, "b", 60, "unit/0").has_value());
  EXPECT_EQ(store.lease(study, "b", 60, "unit/1")->unit.key, "unit/1");
}

TEST_P(AnyStore, ALeaseEndsByTime) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  const auto late = store.lease(study, "late", 0);
  EXPECT_EQ(store.progress(study).leased, 0U);
  const auto other = store.lease(study, "other", 60);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->unit.id, late->unit.id);
  EXPECT_FALSE(store.renew(*late, 60));
  EXPECT_TRUE(store.renew(*other, 60));

  // Only who holds the lease writes.
  EXPECT_FALSE(store.finish(*late, {sample_member(), sample_member()}));
  EXPECT_TRUE(store.finish(*other, {sample_member()}));
  EXPECT_FALSE(store.finish(*other, {sample_member()}));
  EXPECT_FALSE(store.renew(*other, 60));
  const Progress progress = store.progress(study);
  EXPECT_EQ(progress.done, 1U);
  EXPECT_EQ(progress.leased, 0U);
  EXPECT_EQ(store.totals(study).members, 1U);
}

TEST_P(AnyStore, ACheckpointIsForWhoeverTakesTheUnitNext) {
  Store store = write();
  const std::int64_t study = plan(store, 2);
  const auto first = store.lease(study, "a", 60);
  EXPECT_EQ(store.checkpoint(*first), std::nullopt);
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>(i % 256);
  EXPECT_TRUE(store.keep_checkpoint(*first, "old"));
  EXPECT_TRUE(store.keep_checkpoint(*first, bytes));
  store.release(*first);
  EXPECT_FALSE(store.keep_checkpoint(*first, "too late"));

  const auto again = store.lease(study, "b", 60);
  EXPECT_EQ(again->unit.id, first->unit.id);
  EXPECT_EQ(store.checkpoint(*again), bytes);
  EXPECT_EQ(read().checkpoint(*again), bytes);
  const auto other = store.lease(study, "b", 60);
  EXPECT_EQ(store.checkpoint(*other), std::nullopt);
  Lease forged = *other;
  forged.unit = again->unit;
  EXPECT_FALSE(store.keep_checkpoint(forged, "not its own"));

  EXPECT_TRUE(store.finish(*again, {sample_member()}));
  EXPECT_EQ(store.checkpoint(*again), std::nullopt);
  EXPECT_FALSE(store.keep_checkpoint(*again, "done"));
  EXPECT_TRUE(store.keep_checkpoint(*other, bytes));
  EXPECT_TRUE(store.remove_study(study, true));
  EXPECT_EQ(store.checkpoint(*other), std::nullopt);
}

TEST_P(AnyStore, ALeaseEndsWithItsProcess) {
  const pid_t pid = in_child([&] {
    Store store = write();
    return store.lease(plan(store, 1), this_owner(), 3600).has_value() ? 0 : 1;
  });
  EXPECT_EQ(exit_code_of(pid), 0);
  Store store = write();
  const std::int64_t study = plan(store, 1);
  EXPECT_EQ(store.progress(study).leased, 0U);
  EXPECT_TRUE(store.lease(study, this_owner(), 3600).has_value());
  EXPECT_EQ(store.progress(study).leased, 1U);
}

TEST(Owner, IsGoneWhenItsProcessIs) {
  const std::string me = this_owner();
  EXPECT_FALSE(is_gone(me));
  EXPECT_FALSE(is_gone(me + ":thread 3"));
  EXPECT_FALSE(is_gone("another-host:1:1"));
  EXPECT_FALSE(is_gone("me"));
  EXPECT_FALSE(is_gone(""));
  const std::string host = me.substr(0, me.find(':'));
  EXPECT_FALSE(is_gone(host));
  EXPECT_FALSE(is_gone(host + ":x:1"));
  EXPECT_FALSE(is_gone(host + ":0:1"));
  EXPECT_FALSE(is_gone(host + ":-1:1"));
  // No process of ours has this number, but the machine may be another one of this name.
  EXPECT_TRUE(is_gone(host + ":4194305:1"));
  EXPECT_FALSE(is_gone(host + ":4194305:1-another"));
  // A process of this number lives, but it is another one.
  EXPECT_TRUE(is_gone(host + ":" + std::to_string(getpid()) + ":1"));

  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  const std::string child = host + ":" + std::to_string(pid);
  EXPECT_TRUE(is_gone(child)) << "a zombie";
  exit_code_of(pid);
  EXPECT_TRUE(is_gone(child));
}

TEST_P(AnyStore, ALeaseThatRanOutAndThatNobodyTookDoesNoHarm) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  const auto late = store.lease(study, "late", 0);
  EXPECT_TRUE(store.finish(*late, {sample_member()}));
  EXPECT_EQ(store.progress(study).done, 1U);
}

TEST_P(AnyStore, AWriterWhoseStudyWasRemovedIsToldSo) {
  Store store = write();
  const std::int64_t study = plan(store, 2);
  const auto unit = store.lease(study, "me", 60);
  EXPECT_FALSE(store.remove_study(study, false));  // somebody is at work
  EXPECT_EQ(store.units(study).size(), 2U);
  EXPECT_TRUE(store.remove_study(study, true));
  // Another one of the same name and shape takes its place.
  const std::int64_t other = plan(store, 2);
  EXPECT_NE(other, study);
  EXPECT_NE(store.units(other)[0].id, unit->unit.id);
  EXPECT_NE(store.tasks(other)[0].id, unit->unit.task_id);
  const std::vector<std::function<void()>> writes = {
      [&] { store.finish(*unit, {sample_member()}, 0.5); },
      [&] { store.renew(*unit, 60); },
      [&] { store.lease(study, "me", 60); },
      [&] { store.add_units(study, {sample_unit(unit->unit.task_id, "more")}); },
      [&] { store.ensure_task(sample_task(study)); },
      [&] { store.tell(study, {.owner = this_owner()}); },
      [&] { store.progress(study); }};
  for (const auto& write : writes) {
    EXPECT_THROW(write(), StudyRemoved);
    expect_error(write, {location_, "removed"});
  }
  const Progress progress = store.progress(other);
  EXPECT_EQ(progress.units, 2U);
  EXPECT_EQ(progress.done, 0U);
  EXPECT_EQ(store.totals(other).members, 0U);
  EXPECT_FALSE(store.tasks(other)[0].optimum);
  expect_whole();
}

TEST_P(AnyStore, IdsAreNeverGivenTwice) {
  Store store = write();
  std::set<std::int64_t> studies;
  std::set<std::int64_t> units;
  std::set<std::int64_t> members;
  std::set<std::string> uids;
  for (int round = 0; round < 3; ++round) {
    const std::int64_t study = plan(store, 1);
    finish_unit(store, study, store.units(study)[0], {sample_member()});
    EXPECT_TRUE(studies.insert(study).second);
    EXPECT_TRUE(units.insert(store.units(study)[0].id).second);
    EXPECT_TRUE(uids.insert(store.studies()[0].uid).second);
    EXPECT_TRUE(members.insert(store.members(store.tasks(study)[0].id, Curves::none)[0].id).second);
    store.remove_study(study, false);
  }
}

TEST_P(AnyStore, ARevisionForEachChange) {
  Store store = write();
  const std::int64_t study = plan(store, 2);
  std::int64_t before = store.progress(study).revision;
  const auto grew = [&] {
    const std::int64_t now = store.progress(study).revision;
    return std::exchange(before, now) < now;
  };
  const auto unit = store.lease(study, "me", 60);
  store.tell(study, {.owner = this_owner()});
  EXPECT_FALSE(grew());  // nothing else to see
  store.finish(*unit, {sample_member()});
  EXPECT_TRUE(grew());
  Unit optimum = sample_unit(unit->unit.task_id, "F*");
  optimum.phase = Phase::optimum;
  optimum.work = 2;
  store.add_units(study, {optimum});
  EXPECT_TRUE(grew());
  store.add_units(study, {optimum});
  EXPECT_FALSE(grew());
  EXPECT_TRUE(store.finish(*store.lease(study, "me", 60, "F*"), {}, 0.25));
  EXPECT_TRUE(grew());
  EXPECT_EQ(store.tasks(study)[0].optimum, 0.25);
  EXPECT_EQ(store.progress(study).work_done, 2);
}

TEST_F(StoreTest, AStoreThatIsNotWhereItWasIsNotWrittenTo) {
  for (const bool replaced : {false, true}) {
    SCOPED_TRACE(replaced);
    const std::filesystem::path path = folder_ / (replaced ? "replaced.db" : "removed.db");
    Store store = Store::open(path, Store::Mode::write);
    const std::int64_t study = plan(store, 2);
    finish_unit(store, study, store.units(study)[0], {sample_member("kept")});
    const auto unit = store.lease(study, "me", 60);
    for (const char* end : {"", "-wal", "-shm"}) {
      std::filesystem::rename(path.string() + end, (folder_ / "elsewhere.db").string() + end);
    }
    if (replaced) {
      Store other = Store::open(path, Store::Mode::write);
      plan(other, 1);
    }
    EXPECT_THROW(store.finish(*unit, {sample_member("last")}), StoreMoved);
    EXPECT_THROW(store.renew(*unit, 60), StoreMoved);
    const std::filesystem::path file = store.rescue();
    EXPECT_EQ(file.parent_path(), folder_);
    Store rescued = Store::open(file, Store::Mode::write);
    EXPECT_TRUE(rescued.finish(*unit, {sample_member("last")}));
    const auto members = rescued.members(rescued.tasks(study)[0].id, Curves::all);
    ASSERT_EQ(members.size(), 2U);
    EXPECT_EQ(members[0].options.at("lr"), "kept");
    EXPECT_EQ(members[1].options.at("lr"), "last");
    store = std::move(rescued);  // closes the old one: the other's log must stay
    if (replaced) {
      const Store other = Store::open(path, Store::Mode::read);
      EXPECT_EQ(other.units(other.studies().at(0).id).size(), 1U);
    }
  }
}

TEST_F(StoreTest, ARescueWithoutItsFolder) {
  const std::filesystem::path folder = folder_ / "gone";
  std::filesystem::create_directory(folder);
  Store store = Store::open(folder / "runs.db", Store::Mode::write);
  const std::int64_t study = plan(store, 1);
  std::filesystem::remove_all(folder);
  EXPECT_THROW(store.lease(study, "me", 60), StoreMoved);
  const std::filesystem::path file = store.rescue();
  EXPECT_EQ(Store::open(file, Store::Mode::read).studies().size(), 1U);
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + end);
}

TEST_P(AnyStore, OrderIsOfPlacesNotOfTime) {
  Store store = write();
  const Study study = store.ensure_study(sample_study());
  const Task task = store.ensure_task(sample_task(study.id));
  Unit b = sample_unit(task.id, "b");
  Unit a = sample_unit(task.id, "a");
  Unit late = sample_unit(task.id, "late");
  b.place = 1;
  a.place = 1;
  late.place = 0;
  store.add_units(study.id, {b, a});
  store.add_units(study.id, {late});
  auto units = store.units(study.id);
  ASSERT_EQ(units.size(), 3U);
  // Written in the opposite order.
  std::reverse(units.begin(), units.end());
  for (const Unit& unit : units) {
    finish_unit(store, study.id, unit, {sample_member(unit.key), sample_member(unit.key + "2")});
  }
  std::vector<std::string> order;
  for (const MemberRow& member : store.members(task.id, Curves::none)) {
    order.push_back(member.options.at("lr"));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"late", "late2", "a", "a2", "b", "b2"}));
}

TEST_P(AnyStore, RemovesAStudyWithAllThatItHas) {
  Store store = write();
  const std::int64_t study = plan(store, 2);
  const std::int64_t kept = plan(store, 2, "kept");
  for (const std::int64_t id : {study, kept}) {
    store.finish(*store.lease(id, "me", 60), {sample_member()});
  }
  store.remove_study(study, true);
  ASSERT_EQ(store.studies().size(), 1U);
  EXPECT_EQ(store.totals(kept).points, 3U);
  expect_whole();
  if (GetParam() != Database::sqlite) return;
  SQLite::Database database(location_);
  for (const char* table : {"task", "member"}) {
    EXPECT_EQ(database.execAndGet(std::string("SELECT count(*) FROM ") + table).getInt(), 1);
  }
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM point").getInt(), 3);
}

TEST_P(AnyStore, AReaderSeesWhatAWriterCommits) {
  Store writer = write();
  const std::int64_t study = plan(writer, 2);
  const Store reader = read();
  EXPECT_EQ(reader.progress(study).done, 0U);
  const auto unit = writer.lease(study, "me", 60);
  writer.finish(*unit, {sample_member()});
  EXPECT_EQ(reader.progress(study).done, 1U);
  Store other = read();
  expect_error([&] { other.remove_study(study, false); }, {location_, "reading only"});
}

TEST_P(AnyStore, WorkersTellHowFarTheyAre) {
  Store store = write();
  const std::int64_t study = plan(store, 2);
  EXPECT_TRUE(store.workers(study).empty());
  store.tell(study, {.owner = this_owner(), .part = 0.25, .doing = "adam", .curve = "{}"});
  store.tell(study, {.owner = this_owner(),
                     .part = 0.5,
                     .seconds_left = 60,
                     .doing = "adam, epoch 2",
                     .curve = R"({"epoch": [0, 1]})",
                     .machine = "a machine",
                     .target = "AVX2"});
  const Store reader = read();
  const std::vector<Worker> workers = reader.workers(study);
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].owner, this_owner());
  EXPECT_EQ(workers[0].part, 0.5);
  EXPECT_EQ(workers[0].seconds_left, 60);
  EXPECT_EQ(workers[0].doing, "adam, epoch 2");
  EXPECT_EQ(workers[0].curve, R"({"epoch": [0, 1]})");
  EXPECT_EQ(workers[0].machine, "a machine");
  EXPECT_EQ(workers[0].target, "AVX2");
  EXPECT_GT(workers[0].began, 1'700'000'000);
  EXPECT_GE(workers[0].updated, workers[0].began);
  store.untell(study, this_owner());
  EXPECT_TRUE(reader.workers(study).empty());
}

TEST_P(AnyStore, WorkersThatAreNoMoreAreNotListed) {
  std::int64_t study = 0;
  {
    Store store = write();
    study = plan(store, 1);
  }
  const pid_t pid = in_child([&] {
    Store store = write();
    store.tell(study, {.owner = this_owner(), .part = 0.1});
    return store.workers(study).size() == 1 ? 0 : 1;
  });
  EXPECT_EQ(exit_code_of(pid), 0);
  EXPECT_TRUE(read().workers(study).empty());
}

TEST_P(AnyStore, FindsAMemberOfAStudy) {
  Store store = write();
  const std::int64_t study = plan(store, 1);
  const std::int64_t other = plan(store, 1, "other");
  finish_unit(store, study, store.units(study)[0], {sample_member("0.1"), sample_member("0.2")});
  EXPECT_EQ(store.progress(study).members, 2U);
  EXPECT_EQ(store.progress(other).members, 0U);
  const Task task = store.tasks(study)[0];
  const MemberRow second = store.members(task.id, Curves::all)[1];
  const auto found = store.find_member(study, second.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first.id, task.id);
  expect_same(found->second, second);
  EXPECT_FALSE(store.find_member(study, 999));
  EXPECT_FALSE(store.find_member(other, second.id));
}

INSTANTIATE_TEST_SUITE_P(Databases, AnyStore,
                         ::testing::Values(Database::sqlite, Database::postgres), name_of);

}  // namespace
}  // namespace tandem::store
