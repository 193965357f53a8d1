// SPDX-License-Identifier: MIT
// `tandem runs` as a user meets it.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/test_program.h"
#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

using store::Phase;
using store::Store;

class RunsCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = (folder_ / "runs.db").string();
    fill(store_, "kdd", 2);
  }

  /// A study of one task, two settings of Adam tuned and one measured; some units may be open.
  static std::int64_t fill(const std::string& path, const std::string& study_name,
                           std::size_t finished) {
    Store store = Store::open(path, Store::Mode::write);
    const std::int64_t study = store::add_small_study(store, {.name = study_name});
    const auto member = [](const std::string& lr, double loss, Phase phase, std::uint64_t seed) {
      return store::MemberRow{
          .optimizer = "adam",
          .method = "adam",
          .baseline = true,
          .options = {{"beta1", "0.9"}, {"lr", lr}},
          .seed = seed,
          .phase = phase,
          .points = {{.epoch = 0, .train_loss = 2}, {.epoch = 1, .train_loss = loss}}};
    };
    const auto units = store.units(study);
    if (finished > 0) {
      store::MemberRow wild = member("9", -1, Phase::tune, 0);
      wild.diverged = true;
      store::finish_unit(
          store, study, units[0],
          {member("0.1", 0.5, Phase::tune, 0), member("0.2", 0.25, Phase::tune, 0), wild});
    }
    if (finished > 1) {
      store::finish_unit(store, study, units[1], {member("0.2", 0.375, Phase::measure, 5)});
    }
    return study;
  }

  Result runs(const std::string& arguments, bool errors = false) const {
    return program("runs " + arguments + " --store '" + store_ + "'", errors);
  }

  void expect_error(const std::string& arguments, int exit_code,
                    const std::vector<std::string>& parts) const {
    expect_end(runs(arguments, true), exit_code, parts);
  }

  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
  std::string store_;
};

TEST_F(RunsCommand, ListsStudies) {
  fill(store_, "half", 1);
  const auto lines = json_lines(runs("list --json").out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["study"], "half");
  EXPECT_EQ(lines[0]["done"], 1);
  EXPECT_EQ(lines[1]["study"], "kdd");
  EXPECT_EQ(lines[1]["version"], "1.2.3");
  EXPECT_EQ(lines[1]["tasks"], 1);
  EXPECT_EQ(lines[1]["units"], 2);
  EXPECT_EQ(lines[1]["done"], 2);
  EXPECT_EQ(lines[1]["members"], 4);
  EXPECT_EQ(lines[1]["points"], 8);
  const Result table = runs("list");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("2/2"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("2023-11-14 22:13 UTC"), std::string::npos) << table.out;
}

TEST_F(RunsCommand, ShowsAStudy) {
  const auto lines = json_lines(runs("show kdd --json").out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["event"], "study");
  EXPECT_EQ(lines[0]["command"], "tandem study kdd.toml");
  EXPECT_EQ(lines[0]["complete"], true);
  EXPECT_EQ(lines[0]["text"], "epochs = 1");
  EXPECT_EQ(lines[1]["event"], "task");
  EXPECT_EQ(lines[1]["optimum"], 0.125);
  EXPECT_EQ(lines[2]["optimizer"], "adam");
  EXPECT_EQ(lines[2]["baseline"], true);
  EXPECT_EQ(lines[2]["tuned"], 3);
  EXPECT_EQ(lines[2]["measured"], 1);
  EXPECT_EQ(lines[2]["diverged"], 1);
  EXPECT_EQ(lines[2]["best_loss"], 0.25);
  EXPECT_EQ(lines[2]["options"]["lr"], "0.2");
  expect_end(
      runs("show kdd"), 0,
      {"tandem study kdd.toml", "2 of 2", "nsl-kdd", "F* = 0.125", "adam (baseline)", "lr=0.2"});
}

TEST_F(RunsCommand, Removes) {
  const std::int64_t study = fill(store_, "half", 1);
  {
    Store store = Store::open(store_, Store::Mode::write);
    ASSERT_TRUE(store.lease(study, store::this_owner(), 3600).has_value());
    expect_error("rm half", 1, {store_, "'half'", "1 units leased", "--force"});
    EXPECT_EQ(runs("list --json").out.find("half") == std::string::npos, false);
  }
  EXPECT_EQ(runs("rm half --force").out, "removed 'half': 1 tasks, 2 units, 3 members, 6 points\n");
  const auto lines = json_lines(runs("rm kdd --json").out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["event"], "removed");
  EXPECT_EQ(lines[0]["points"], 8);
  EXPECT_EQ(runs("list").exit_code, 0);
  EXPECT_EQ(runs("list --json").out, "");
  expect_error("list", 0, {"has no studies"});
  expect_error("rm kdd", 2, {"Unknown study 'kdd'", "has none"});
}

TEST_F(RunsCommand, Merges) {
  const std::string other = (folder_ / "other.db").string();
  fill(other, "more", 2);
  const auto lines = json_lines(runs("merge '" + other + "' --json").out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["studies"], 1);
  EXPECT_EQ(lines[0]["units"], 2);
  EXPECT_EQ(json_lines(runs("list --json").out).size(), 2U);
  EXPECT_NE(runs("merge '" + other + "'").out.find("added 0 new studies"), std::string::npos);

  // Into a store that is not there yet; none is made when there is nothing to merge.
  const std::string fresh = (folder_ / "fresh.db").string();
  EXPECT_EQ(program("runs merge " + store_ + " " + other + " --store " + fresh).exit_code, 0);
  EXPECT_EQ(json_lines(program("runs list --json --store " + fresh).out).size(), 2U);
  std::filesystem::remove(fresh);
  EXPECT_EQ(program("runs merge " + fresh + "2 --store " + fresh).exit_code, 3);
  EXPECT_FALSE(std::filesystem::exists(fresh));
}

TEST_F(RunsCommand, TellsUsageFromDamage) {
  expect_error("show kd", 2, {"Unknown study 'kd'", store_, "did you mean 'kdd'?"});
  expect_error("rm kddd", 2, {"did you mean 'kdd'?"});
  expect_error("show", 2, {"NAME"});
  expect_error("merge", 2, {"OTHER"});
  expect_error("lst", 2, {"Unknown command 'lst', did you mean 'list'?"});
  std::ofstream(store_) << std::string(5000, 'x');
  for (const char* command : {"list", "show kdd", "rm kdd", "merge x"}) {
    expect_error(command, 3, {});
  }
  expect_error("list", 3, {store_, "not a store"});
  std::filesystem::remove(store_);
  expect_error("list", 3, {store_, "no such store"});
  expect_error("rm kdd", 3, {store_, "no such store"});
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(RunsCommand, HelpStartsWithAnExample) {
  for (const char* part : {"", "list", "show", "rm", "merge"}) {
    const Result help = program(std::string("runs ") + part + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.out.find("Example: tandem runs"), 0U) << help.out;
  }
}

}  // namespace
}  // namespace tandem::cli
