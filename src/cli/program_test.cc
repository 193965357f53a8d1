// SPDX-License-Identifier: MIT
// The program as a user meets it: output, messages, exit codes.
#include <gtest/gtest.h>
#include <tandem/registry.h>
#include <tandem/version.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/test_program.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

TEST(Program, TellsItsVersionAndBuild) {
  const Result result = program("--version");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find(std::string("tandem ") + version()), std::string::npos);
  EXPECT_NE(result.out.find(std::string("kernels: ") + cpu_target()), std::string::npos);
}

TEST(Program, ShowsAnExampleFirstInHelp) {
  for (const char* command : {"", "demo", "optimizers", "bench", "bench step"}) {
    const Result result = program(std::string(command) + " --help");
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_EQ(result.out.rfind("Example: tandem", 0), 0U) << command;
  }
}

TEST(Program, HelpFitsATerminal) {
  for (const char* command : {"", "train", "study", "paper", "report", "export csv", "data"}) {
    std::istringstream lines(program(std::string(command) + " --help").out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Example:")) continue;  // to be copied
      EXPECT_LE(line.size(), 80U) << command << ": " << line;
    }
  }
}

TEST(Program, TablesFitTheColumnsThatAreAskedFor) {
  setenv("COLUMNS", "50", 1);
  const std::string narrow = program("optimizers").out;
  unsetenv("COLUMNS");
  const std::string wide = program("optimizers").out;
  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 50U) << line;
  EXPECT_GT(wide.find('\n'), 80U);  // no terminal: all of it
  EXPECT_EQ((narrow + wide).find('\x1b'), std::string::npos);
}

TEST(Program, RefusesWhatItDoesNotKnow) {
  const auto expect = [](const std::string& arguments, const std::string& message) {
    const Result result = program(arguments, true);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_NE(result.out.find(message), std::string::npos) << arguments << ": " << result.out;
  };
  expect("", "Usage:");
  expect("bench", "Usage:");
  expect("optimzers", "Unknown command 'optimzers', did you mean 'optimizers'?");
  expect("bench stp", "Unknown command 'stp', did you mean 'step'?");
  expect("demo --jsno", "Unknown argument '--jsno', did you mean '--json'?");
  expect("demo --threads -3", "--threads");
  expect("demo --threads many", "--threads");
  expect("optimizers daig-to", "Unknown optimizer 'daig-to', did you mean 'diag-to'?");
  expect("optimizers saga", "needs a problem");
  expect("bench step --parameters 0", "--parameters");
}

TEST(Program, ListsOptimizersAsJson) {
  const Result result = program("optimizers --json");
  EXPECT_EQ(result.exit_code, 0);
  const auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), optimizer_infos().size());
  for (const nlohmann::json& line : lines) {
    for (const char* key : {"name", "class", "summary", "rule", "reference", "state_bytes"}) {
      EXPECT_FALSE(line[key].get<std::string>().empty()) << line["name"] << " has no " << key;
    }
    for (const nlohmann::json& option : line["options"]) {
      EXPECT_FALSE(option["help"].get<std::string>().empty()) << line["name"] << option;
    }
    EXPECT_EQ(line["tuning"][0]["option"], "lr") << line["name"];
  }
  EXPECT_EQ(lines[1]["name"], "diag-to");
  EXPECT_EQ(lines[1]["class"], "DiagonalTO");
  EXPECT_EQ(lines[1]["trainable"], true);
  EXPECT_EQ(lines[1]["options"][0]["default"], "0.01");
  EXPECT_EQ(lines[1]["options"][0]["range"], ">= 0");
  EXPECT_EQ(lines[1]["state"][0]["shape"], "like_weights");
}

TEST(Program, DemoComparesAndLeavesAReport) {
  const tests::TempFolder temp;
  const std::filesystem::path folder = temp / "demo";  // the program makes it
  const std::string demo =
      "demo --json --data synthetic:rows=1000,features=8,classes=3,seed=4 --output " +
      folder.string();
  const Result result = program(demo);
  EXPECT_EQ(result.exit_code, 0);
  std::set<std::string> seen;
  for (const auto& row : json_lines(result.out)) {
    seen.insert(row["optimizer"]);
    EXPECT_EQ(row["min_loss"].size(), 3U) << row;
    for (const auto& gap : row["gap"]) EXPECT_GT(gap, -1e-6) << row;
    EXPECT_EQ(row["rho"].is_null(), row["baseline"]) << row;
  }
  EXPECT_EQ(seen, (std::set<std::string>{"adam", "momentum", "saga", "diag-to", "ro-to", "full-to",
                                         "adam-to"}));
  for (const char* file : {"report.html", "demo.toml", "demo.db"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / file)) << file;
  }
  // The same bits again, on one thread; only times differ.
  const auto losses = [](const Result& of) {
    std::vector<nlohmann::json> found;
    for (const auto& row : json_lines(of.out)) found.push_back(row["min_loss"]);
    return found;
  };
  EXPECT_EQ(losses(program(demo + " --threads 1")), losses(result));
  // For people: a table, curves where gnuplot is there, and where the report is.
  const Result shown =
      program("demo --data synthetic:rows=1000,features=8,seed=4 --output " + folder.string());
  EXPECT_NE(shown.out.find("baseline"), std::string::npos);
  EXPECT_NE(shown.out.find("The report is in " + (folder / "report.html").string()),
            std::string::npos)
      << shown.out;
}

TEST(Program, BenchMeasuresSomething) {
  const Result result = program(
      "bench step --json --parameters 10000 --dense 600 --span 2000 --span-steps 70 --rounds 1");
  EXPECT_EQ(result.exit_code, 0);
  std::size_t measurements = 0;
  for (const auto& line : json_lines(result.out)) {
    if (line["event"] != "measurement") continue;
    ++measurements;
    EXPECT_GT(line["ratio"], 0) << line;
  }
  EXPECT_GE(measurements, 25U);
}

TEST(Program, BenchOfManyRunsLeavesWhatIsToBeKept) {
  const tests::TempFolder folder;
  const std::string store = " --store " + (folder / "runs.db").string();
  const auto studies = [&] {
    const Result listed = program("runs list --json" + store);
    EXPECT_EQ(listed.exit_code, 0) << listed.out;
    return json_lines(listed.out).size();
  };
  EXPECT_EQ(json_lines(program("bench runs --quick --json" + store).out).size(), 6U);
  EXPECT_EQ(studies(), 0U);
  const Result kept = program("bench runs --quick --keep --json" + store);
  EXPECT_EQ(kept.exit_code, 0);
  EXPECT_EQ(studies(), 2U);
  EXPECT_EQ(program("bench runs --quick --keep", true).exit_code, 2);
}

}  // namespace
}  // namespace tandem::cli
