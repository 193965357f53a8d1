// SPDX-License-Identifier: MIT
// Workers without a study of their own: several studies in one store, some of which they cannot
// work on.
#include "study/any_study.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tandem/version.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "study/load.h"
#include "study/stored_study.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::study {
namespace {

using store::Store;

class AnyStudyTest : public ::testing::Test {
 protected:
  static std::string study(const std::string& name, const std::string& data) {
    return fmt::format(R"(
name = "{}"
epochs = 2
seeds = [3, 1]
diagnose = true
[[task]]
data = "{}"
lambda = [0.1, 0.001]
batch = 32
init = "zeros"
shuffle = false
validation = 0.25
[[task]]
data = "{}"
model = "ffn:5"
batch = 32
sampling = "independent"
loss = "double-softmax"
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, "0.1*0.95^epoch"]
[[optimizer]]
name = "storm+diag-to"
label = "mine"
lr = [0.02, 0.2]
[[optimizer]]
part_of = "mine"
label = "part"
lr = 0.2
)",
                       name, data, data);
  }
  static std::string synthetic(int seed) {
    return fmt::format("synthetic:rows=160,features=5,classes=3,noise=0.1,seed={}", seed);
  }
  static Runner runner_of(const std::string& text) {
    return Runner(parse_study(text, "s.toml"), {.memory = std::size_t{1} << 30});
  }
  void add(const std::string& text) {
    Store store = Store::open(path_, Store::Mode::write);
    runner_of(text).add(store);
  }
  std::vector<std::string> alone(const std::string& name, const std::string& text) {
    const auto path = folder_ / (name + "-alone.db");
    Store store = Store::open(path, Store::Mode::write);
    EXPECT_TRUE(runner_of(text).run(store, [](const Status&) { return true; }));
    return all_rows(path, name);
  }
  /// Works; what it said.
  std::vector<std::string> work(std::size_t refused = 0) {
    std::vector<std::string> said;
    Store store = Store::open(path_, Store::Mode::write);
    AnyStudy worker(store, {.memory = std::size_t{1} << 30}, false,
                    [&](const std::string& text) { said.push_back(text); });
    EXPECT_TRUE(worker.run([](const Status&) { return true; }));
    EXPECT_EQ(worker.refused(), refused);
    return said;
  }
  void change(const std::string& sql) {
    SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA foreign_keys = ON");
    database.exec(sql);
  }
  bool complete(const std::string& name) {
    return load_study(Store::open(path_, Store::Mode::read), name).complete;
  }

  tests::TempFolder folder_;
  std::filesystem::path path_ = folder_ / "runs.db";
};

TEST_F(AnyStudyTest, AStoredStudyIsTheOneOfItsFile) {
  add(study("s", synthetic(1)));
  const Store store = Store::open(path_, Store::Mode::read);
  const store::Study stored = store.find_study("s").value();
  const StudySpec spec = stored_study(stored, store.tasks(stored.id));
  const StudySpec file = parse_study(study("s", synthetic(1)), "s.toml");
  EXPECT_EQ(canonical_text(spec), canonical_text(file));
  ASSERT_EQ(spec.tasks.size(), 3U);
  EXPECT_EQ(spec.tasks[0].validation, 0.25);
  EXPECT_EQ(spec.tasks[1].init, train::Init::zeros);
  EXPECT_EQ(spec.tasks[2].sampling, train::Sampling::independent);
}

TEST_F(AnyStudyTest, WorksOnAllStudiesOfTheStore) {
  std::vector<std::vector<std::string>> expected;
  for (const char* name : {"a", "b", "c"}) {
    const std::string text = study(name, synthetic(name[0]));
    expected.push_back(alone(name, text));
    add(text);
  }
  EXPECT_EQ(work(), std::vector<std::string>{});
  EXPECT_EQ(all_rows(path_, "a"), expected[0]);
  EXPECT_EQ(all_rows(path_, "b"), expected[1]);
  EXPECT_EQ(all_rows(path_, "c"), expected[2]);
  EXPECT_TRUE(complete("a") && complete("b") && complete("c"));
  EXPECT_EQ(work(), std::vector<std::string>{});  // nothing is left
}

TEST_F(AnyStudyTest, AnEmptyStoreIsNoWork) { EXPECT_EQ(work(), std::vector<std::string>{}); }

TEST_F(AnyStudyTest, SeveralShareAndOneThatStaysTakesWhatComesLater) {
  add(study("a", synthetic(1)));
  std::atomic<bool> stop = false;
  std::thread staying([&] {
    Store store = Store::open(path_, Store::Mode::write);
    AnyStudy worker(store, {.memory = std::size_t{1} << 30, .executor = serial_executor()}, true,
                    [](const std::string& text) { ADD_FAILURE() << text; });
    EXPECT_FALSE(worker.run([&](const Status&) { return !stop; }));
  });
  work();
  EXPECT_TRUE(complete("a"));
  add(study("b", synthetic(2)));
  while (!complete("b")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stop = true;
  staying.join();
  EXPECT_EQ(all_rows(path_, "b"), alone("b", study("b", synthetic(2))));
}

TEST_F(AnyStudyTest, OtherDataAreNamedWithBothDigestsAndOtherStudiesGoOn) {
  const std::string file = (folder_ / "points.csv").string();
  const auto write = [&](int seed) {
    std::ofstream csv(file);
    csv << "x,y,label\n";
    for (int i = 0; i < 64; ++i) csv << (i * seed) % 7 << ',' << i % 5 << ',' << i % 2 << '\n';
  };
  write(1);
  add(study("a", "csv:" + file));
  add(study("b", synthetic(1)));
  std::string hash;
  {
    const Store store = Store::open(path_, Store::Mode::read);
    hash = store.tasks(store.find_study("a").value().id).at(0).data_hash;
  }
  write(3);
  const auto said = work(1);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].rfind("cannot work on study 'a': ", 0), 0U) << said[0];
  EXPECT_NE(said[0].find(hash), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("hash of the data: the store has"), std::string::npos) << said[0];
  EXPECT_FALSE(complete("a"));
  EXPECT_TRUE(complete("b"));
  std::filesystem::remove(file);
  EXPECT_NE(work(1).at(0).find("points.csv"), std::string::npos);
  write(1);  // the right one again
  EXPECT_EQ(work(), std::vector<std::string>{});
  EXPECT_TRUE(complete("a"));
}

TEST_F(AnyStudyTest, AnotherTargetIsNamedWithTheOption) {
  const std::vector<std::string> targets = cpu_targets();
  add(study("a", synthetic(1)));
  change("UPDATE study SET target = 'ALIEN'");
  const auto said = work(1);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find(fmt::format("CPU target ALIEN, and this process runs {}", targets[0])),
            std::string::npos)
      << said[0];
  EXPECT_NE(said[0].find("this CPU runs " + targets[0]), std::string::npos) << said[0];
  change(fmt::format("UPDATE study SET target = '{}'", targets.back()));
  if (targets.size() > 1) {
    EXPECT_NE(work(1).at(0).find("--target " + targets.back()), std::string::npos);
  }
  set_cpu_target(targets.back());
  EXPECT_EQ(work(), std::vector<std::string>{});
  set_cpu_target(targets.front());
  EXPECT_TRUE(complete("a"));
}

TEST_F(AnyStudyTest, WhatAnOlderVersionStoredOrDamageLeftIsRefused) {
  add(study("a", synthetic(1)));
  const auto refused = [&](const std::string& part) {
    const auto said = work(1);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("study 'a': an older version of Tandem wrote it, or it is damaged"),
              std::string::npos)
        << said[0];
    EXPECT_NE(said[0].find(part), std::string::npos) << said[0];
  };
  change("UPDATE task SET facts = '{\"description\":\"\"}' WHERE id = 2");
  refused("spec");
  change("DELETE FROM study");
  add(study("a", synthetic(1)));
  change("UPDATE task SET facts = replace(facts, '0.25', '0.5')");
  refused("not the one that it was planned from");
  change("UPDATE study SET text = 'x'");
  refused("parse");
}

TEST_F(AnyStudyTest, MeasuresWhatSomebodyTunedWhoDied) {
  const std::string text = study("a", synthetic(1));
  const auto expected = alone("a", text);
  add(text);
  work();
  // As if he had died before he added the units that measure.
  change("DELETE FROM unit WHERE phase = 'measure' AND optimizer = 'mine'");
  change(
      "UPDATE tally SET units = (SELECT count(*) FROM unit), revision = revision + 1, "
      "done = (SELECT count(*) FROM unit WHERE done)");
  EXPECT_FALSE(complete("a"));
  work();
  EXPECT_EQ(all_rows(path_, "a"), expected);
  EXPECT_TRUE(complete("a"));
}

TEST_F(AnyStudyTest, AStudyThatIsRemovedMeanwhileIsLeft) {
  add(study("a", synthetic(1)));
  add(study("b", synthetic(2)));
  std::vector<std::string> said;
  Store store = Store::open(path_, Store::Mode::write);
  AnyStudy worker(store, {.memory = std::size_t{1} << 30}, false,
                  [&](const std::string& text) { said.push_back(text); });
  bool removed = false;
  EXPECT_TRUE(worker.run([&](const Status& status) {
    if (!removed && status.units_done > 0) {
      Store other = Store::open(path_, Store::Mode::write);
      removed = other.remove_study(other.find_study("a").value().id, true);
    }
    return true;
  }));
  EXPECT_TRUE(removed);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("was removed"), std::string::npos) << said[0];
  EXPECT_TRUE(complete("b"));
}

}  // namespace
}  // namespace tandem::study
