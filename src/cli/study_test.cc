// SPDX-License-Identifier: MIT
// `tandem study` as a user meets it: plans, exit codes, interruptions, kills, two at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cli/command.h"
#include "cli/test_process.h"
#include "cli/test_program.h"
#include "store/store.h"
#include "study/load.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using store::Store;

// 24 units, each a small part of a second.
constexpr const char* kMany = R"(
name = "many"
epochs = 6
seeds = [1, 2]
diagnose = true
[[task]]
data = "synthetic:rows=2000,features=30,classes=4,noise=0.1,seed=5"
lambda = [1, 0.1, 0.01, 0.001]
batch = 20
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1, 0.001]
decay = [1, 0.9]
[[optimizer]]
name = "diag-to"
lr = [0.02, 0.2, 1e8]
alpha = [0, 0.1]
[[optimizer]]
name = "saga"
lr = [0.01, 0.1]
)";

constexpr const char* kSmall = R"(
name = "small"
epochs = 2
seeds = [1, 2]
[[task]]
data = "synthetic:rows=100,features=4,noise=0.1,seed=5"
lambda = 0.01
batch = 10
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]
[[optimizer]]
name = "sgd"
lr = [0.05, 0.5, 5]
)";

class StudyCommand : public ::testing::Test {
 protected:
  std::string file(const std::string& text, const std::string& name = "study.toml") {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string store(const std::string& name = "runs.db") { return (folder_ / name).string(); }
  std::vector<std::string> command(const std::string& study, const std::string& store) {
    return {"study", study, "--store", store};
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static std::size_t units_done(const std::string& path, const std::string& study) {
    try {
      const Store store = Store::open(path, Store::Mode::read);
      const auto found = store.find_study(study);
      return found ? store.progress(found->id).done : 0;
    } catch (const store::StoreError&) {
      return 0;  // not yet there
    }
  }
  static std::vector<nlohmann::json> timeless_report(const std::string& store) {
    const Result result = program("report --json --store " + store);
    EXPECT_EQ(result.exit_code, kDone);
    auto lines = json_lines(result.out);
    for (auto& line : lines) {
      EXPECT_EQ(line.erase("seconds"), 1U);
      EXPECT_EQ(line.erase("rho_seconds"), 1U);
    }
    return lines;
  }
  void expect_error(const std::string& arguments, int code, const std::vector<std::string>& parts) {
    const Result result = program(arguments, true);
    expect_end(result, code, parts);
    EXPECT_EQ(result.out.rfind("tandem: ", 0), 0U) << result.out;
  }
  /// Kills it at random moments, again and again, until so many kills hit it at work.
  void kill_often(int kills);

  tests::TempFolder folder_;
};

TEST_F(StudyCommand, DryRunShowsThePlanAndWritesNothing) {
  const std::string study = file(kSmall);
  const auto before = files();
  const Result result = program("study " + study + " --dry-run --store " + store(), true);
  expect_end(result, kDone,
             {"5 members and then 4 runs", "2 epochs", "5 units", "adam (baseline)",
              "lr 0.05 0.5 5", "synthetic:rows=100"});
  const Result json = program("study --json " + study + " --dry-run --store " + store());
  const auto lines = json_lines(json.out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["event"], "plan");
  EXPECT_EQ(lines[0]["study"], "small");
  EXPECT_EQ(lines[0]["members"], 5);
  EXPECT_EQ(lines[0]["runs"], 4);
  EXPECT_EQ(lines[0]["units"], 5);
  EXPECT_EQ(lines[0]["waves"], 2);
  EXPECT_EQ(lines[0]["prune"], 0);
  EXPECT_GT(lines[0]["seconds"], 0);
  EXPECT_GT(lines[0]["bytes"], 0);
  EXPECT_EQ(lines[0]["tasks"][0]["samples"], 100);
  EXPECT_EQ(files(), before);
}

TEST_F(StudyCommand, JsonIsThePlanTheRowsOfTheReportAndTheEnd) {
  const std::string study = file(kSmall);
  const Result result = program("study --json " + study + " --store " + store());
  EXPECT_EQ(result.exit_code, kDone);
  auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["event"], "plan");
  EXPECT_EQ(lines[3]["event"], "done");
  EXPECT_EQ(lines[3]["member_epochs"], 2 * (5 + 4));
  const auto report = json_lines(program("report --json --store " + store()).out);
  ASSERT_EQ(report.size(), 2U);
  EXPECT_EQ(lines[1], report[0]);
  EXPECT_EQ(lines[2], report[1]);
  EXPECT_EQ(lines[1]["optimizer"], "adam");
  EXPECT_EQ(lines[2]["members"], 3);
  EXPECT_EQ(lines[2]["min_loss"].size(), 2U);
  // Again: the same, from the store.
  lines = json_lines(program("study --json " + study + " --store " + store()).out);
  EXPECT_EQ(lines.back()["member_epochs"], 0);
  EXPECT_EQ(lines[1], report[0]);
}

TEST_F(StudyCommand, ThreadsDoNotChangeRows) {
  const std::string study = file(kSmall);
  EXPECT_EQ(program("study " + study + " --threads 1 --store " + store("1.db")).exit_code, kDone);
  EXPECT_EQ(program("study " + study + " --threads 3 --store " + store("3.db")).exit_code, kDone);
  EXPECT_EQ(study::all_rows(store("1.db"), "small"), study::all_rows(store("3.db"), "small"));
}

TEST_F(StudyCommand, ExitCodes) {
  const std::string to = " --store " + store();
  expect_error("study " + store("absent.toml") + to, kUsage, {"absent.toml", "cannot be read"});
  expect_error("study " + file("epochs = true\n") + to, kUsage,
               {"study.toml:1:", "Invalid epochs: true"});
  expect_error("study " +
                   file("[[task]]\ndata = \"libsvm:" + store("absent") +
                        "\"\n[[optimizer]]\nname = \"sgd\"\n") +
                   to,
               kData, {"absent"});
  expect_error("study " +
                   file("[[task]]\ndata = \"synthetic:rows=64,features=300000\"\n"
                        "[[optimizer]]\nname = \"sgd\"\n") +
                   " --memory 1" + to,
               kUsage, {"sgd", "memory budget"});
  expect_error("study " + file(kSmall) + " --memory 99999999999999" + to, kUsage, {"--memory"});
  expect_error("study", kUsage, {"FILE"});
  EXPECT_FALSE(std::filesystem::exists(store()));
  expect_error("study " + file(kSmall) + " --store " + store("no/such/folder.db"), kData,
               {"folder.db"});
  std::ofstream(store("text.db")) << std::string(5000, 'x');
  expect_error("study " + file(kSmall) + " --store " + store("text.db"), kData, {"text.db"});
}

TEST_F(StudyCommand, AnotherStudyOfTheSameNameIsRefused) {
  EXPECT_EQ(program("study " + file(kSmall) + " --store " + store()).exit_code, kDone);
  const auto before = study::all_rows(store(), "small");
  std::string other = kSmall;
  other.replace(other.find("0.05, 0.5, 5"), 12, "0.05, 0.5, 7");
  expect_error("study -q " + file(other) + " --store " + store(), kData,
               {"\"5\"", "\"7\"", "small"});
  EXPECT_EQ(study::all_rows(store(), "small"), before);
}

TEST_F(StudyCommand, AfterCtrlCTheSameCommandEndsWithTheSameRows) {
  const std::string study = file(kMany);
  ASSERT_EQ(program("study " + study + " --store " + store("alone.db")).exit_code, kDone);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string path = store(fmt::format("{}.db", signal));
    Process process(command(study, path));
    while (units_done(path, "many") < 2 && !process.ends_within(milliseconds(2))) {
    }
    process.send(signal);
    EXPECT_EQ(process.wait(), kInterrupted);
    const std::size_t done = units_done(path, "many");
    EXPECT_GE(done, 2U);
    EXPECT_LT(done, 24U);
    const Result incomplete = program("report --store " + path, true);
    EXPECT_EQ(incomplete.exit_code, kDone);
    EXPECT_NE(incomplete.out.find("not complete"), std::string::npos) << incomplete.out;
    EXPECT_EQ(program("study " + study + " --store " + path).exit_code, kDone);
    EXPECT_EQ(study::all_rows(path, "many"), study::all_rows(store("alone.db"), "many"));
    EXPECT_EQ(timeless_report(path), timeless_report(store("alone.db")));
  }
}

TEST_F(StudyCommand, TwoAtOnceShareTheWork) {
  const std::string study = file(kMany);
  ASSERT_EQ(program("study " + study + " --store " + store("alone.db")).exit_code, kDone);
  Process one(command(study, store()));
  Process two(command(study, store()));
  EXPECT_EQ(one.wait(), kDone);
  // Who returns has waited for the other.
  EXPECT_TRUE(study::load_study(Store::open(store(), Store::Mode::read), "many").complete);
  EXPECT_EQ(two.wait(), kDone);
  EXPECT_EQ(study::all_rows(store(), "many"), study::all_rows(store("alone.db"), "many"));
}

void StudyCommand::kill_often(int kills) {
  const std::string study = file(kMany);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(program("study " + study + " --store " + store("alone.db")).exit_code, kDone);
  const auto whole =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  const auto expected = study::all_rows(store("alone.db"), "many");
  std::mt19937 random(12345);
  int done = 0;
  int studies = 0;
  std::size_t resumed = 0;  // kills of a study that was partly done
  while (done < kills) {
    const std::string path = store(fmt::format("killed{}.db", studies++));
    // Milliseconds: the whole of an undisturbed run is within reach, however slow the machine.
    auto most = static_cast<int>(whole.count());
    while (true) {
      Process process(command(study, path));
      const milliseconds time(std::uniform_int_distribution<int>(0, most)(random));
      if (process.ends_within(time)) {
        ASSERT_EQ(process.wait(), kDone);
        break;
      }
      process.send(SIGKILL);
      if (process.wait() == kDone) break;
      ++done;
      if (units_done(path, "many") > 0) ++resumed;
      most += 20;
      if (done >= kills) {  // let it end
        ASSERT_EQ(program("study " + study + " --store " + path).exit_code, kDone);
        break;
      }
    }
    ASSERT_EQ(study::all_rows(path, "many"), expected) << "after " << done << " kills";
    EXPECT_EQ(timeless_report(path), timeless_report(store("alone.db")));
  }
  EXPECT_GT(resumed, 0U);
}

TEST_F(StudyCommand, KilledAtRandomMoments) { kill_often(12); }
TEST_F(StudyCommand, SlowKilledAHundredTimes) { kill_often(100); }

}  // namespace
}  // namespace tandem::cli
