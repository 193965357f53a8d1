// SPDX-License-Identifier: MIT
// `tandem serve` as a user meets it: what it refuses, and the command that it shows for a run.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_program.h"
#include "report/web_assets.h"
#include "store/store.h"
#include "study/run_command.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

void expect_error(const std::string& arguments, int exit_code,
                  const std::vector<std::string>& parts) {
  expect_end(program("serve " + arguments, true), exit_code, parts);
}

TEST(ServeCommand, SaysWhatIsWrong) {
  if (!report::web_available()) {
    expect_error("", kFailed, {"without"});
    GTEST_SKIP() << "the program was built without the front end";
  }
  const tests::TempFolder folder;
  expect_error("--store /nowhere/x.db --port 0", kData, {"/nowhere/x.db", "no such store"});
  expect_error("--port 99999", kUsage, {"--port"});
  expect_error("--port x", kUsage, {"--port"});
  const std::string file = (folder.path() / "runs.db").string();
  { const auto made = store::Store::open(file, store::Store::Mode::write); }
  expect_error("--port 0 --host no-such-name.invalid --store " + file, kFailed,
               {"cannot listen on no-such-name.invalid"});
  for (const std::string& token : {std::string("short"), std::string("sixteen or more; "),
                                   std::string("sixteen_or_more\x1b"), std::string(1001, 'x')}) {
    setenv("TANDEM_SERVE_TOKEN", token.c_str(), 1);
    expect_error("--port 0 --store " + file, kUsage, {"TANDEM_SERVE_TOKEN", "expected 16 to 1000"});
  }
  unsetenv("TANDEM_SERVE_TOKEN");
}

TEST(RunCommand, TrainsTheSameRunAgain) {
  const tests::TempFolder folder;
  const std::string file = (folder.path() / "study.toml").string();
  const std::string db = (folder.path() / "runs.db").string();
  std::ofstream(file) << "epochs = 3\ntune_seed = 7\nseeds = [4]\noptimum = false\n"
                         "[[task]]\ndata = \"synthetic:rows=300,noise=0.2\"\n"
                         "validation = 0.25\nlambda = 0.01\nbatch = 16\ninit = \"zeros\"\n"
                         "[[optimizer]]\nname = \"diag-to\"\nbaseline = true\nlr = [0.1, 0.2]\n"
                         "alpha = 0.01\nbeta = 0.5\ndecay = 0.9\nnormalize = true\n";
  const Result studied = program("study " + file + " --store " + db, true);
  ASSERT_EQ(studied.exit_code, kDone) << studied.out;
  const store::Store store = store::Store::open(db, store::Store::Mode::read);
  const store::Study study = store.studies().at(0);
  const store::Task task = store.tasks(study.id).at(0);
  for (const store::MemberRow& member : store.members(task.id, store::Curves::all)) {
    const std::string command = study::run_command(study, task, member);
    ASSERT_EQ(command.rfind("tandem train ", 0), 0U);
    const Result trained = program(command.substr(std::string("tandem ").size()) + " --json");
    ASSERT_EQ(trained.exit_code, kDone) << command;
    std::vector<nlohmann::json> points;
    for (const auto& line : json_lines(trained.out)) {
      if (line["event"] == "point") points.push_back(line);
    }
    ASSERT_EQ(points.size(), member.points.size()) << command;
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i]["train_loss"].get<double>(), member.points[i].train_loss) << command;
      EXPECT_EQ(points[i]["validation_loss"].get<double>(), member.points[i].validation_loss);
    }
  }
  store::MemberRow pruned = store.members(task.id, store::Curves::none).at(0);
  pruned.pruned = true;
  EXPECT_EQ(study::run_command(study, task, pruned), "");
}

}  // namespace
}  // namespace tandem::cli
