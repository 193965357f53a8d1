// SPDX-License-Identifier: MIT
// `tandem paper estimators` as a user meets it, on a small made NSL-KDD.
#include "cli/paper_estimators.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/machine.h"
#include "cli/test_kdd.h"
#include "cli/test_process.h"
#include "cli/test_program.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

class PaperEstimators : public ::testing::Test {
 protected:
  PaperEstimators() {
    std::ofstream(folder_ / "KDDTest+.txt") << made_kdd(200);
    // No data set of whoever runs this.
    for (const char* name : {"TANDEM_DATA", "XDG_DATA_HOME", "HOME"}) {
      setenv(name, path("").c_str(), 1);
    }
  }
  std::string path(const std::string& name) { return (folder_ / name).string(); }
  Result estimators(const std::string& arguments, bool with_errors = false) {
    return program(fmt::format("paper estimators --data-dir {} {}", path(""), arguments),
                   with_errors);
  }
  std::vector<nlohmann::json> lines(const std::string& arguments) {
    std::vector<nlohmann::json> found;
    for (auto& line : json_lines(estimators("--data nsl-kdd --json " + arguments).out)) {
      if (line["event"] == "estimators") found.push_back(line);
    }
    return found;
  }

  tests::TempFolder folder_;
};

TEST_F(PaperEstimators, IsInTheList) {
  expect_parts(program("paper").out, {"estimators", "The central claim"});
}

TEST_F(PaperEstimators, JsonHasEveryRuleAndEpoch) {
  const auto found = lines("--epochs 2");
  // Two logistic tasks with three rules, a net; all epochs and each of them.
  ASSERT_GE(found.size(), 2U * 3 * 3 + 2 * 3);
  std::size_t wholes = 0;
  for (const auto& line : found) {
    EXPECT_EQ(line["driver"], "adam");
    EXPECT_EQ(line["start"], "normal");
    if (line.contains("left_out")) continue;
    EXPECT_EQ(line["seeds"], 3);
    EXPECT_GT(line["without_ratio"], 0);
    wholes += line["epoch"].is_null() ? 1 : 0;
    if (line["quotient"].is_null()) continue;
    EXPECT_LE(line["low"], line["quotient"]);
    EXPECT_GE(line["high"], line["quotient"]);
  }
  EXPECT_GE(wholes, 8U);
}

TEST_F(PaperEstimators, SeedsAndThreads) {
  const auto first = lines("--epochs 1 --threads 1");
  EXPECT_EQ(lines("--epochs 1 --threads 3"), first);
  EXPECT_NE(lines("--epochs 1 --seed 9"), first);
  EXPECT_EQ(lines("--epochs 1 --start zeros").at(0)["start"], "zeros");
}

TEST_F(PaperEstimators, WritesAPageAndTables) {
  const std::string command =
      fmt::format("--data nsl-kdd covtype --epochs 1 --driver sgd --out {}", path("out"));
  const Result result = estimators(command);
  EXPECT_EQ(result.exit_code, kDone);
  const std::string page = contents(path("out/estimators-quick.md"));
  for (const std::string& text : {result.out, page}) {
    expect_parts(text, {"nsl-kdd logistic, lambda = 0.023", "sgd lr=0.05", "comparisons over all"});
  }
  expect_parts(page, {"tandem paper estimators --budget quick --data nsl-kdd --data covtype "
                      "--driver sgd --epochs 1\n",
                      "covtype: no data", "Quick: half the epochs", machine_description()});
  expect_parts(contents(path("out/estimators-quick.csv")),
               {"log_quotient", "nsl-kdd,logistic,0.97,normal,sgd lr=0.002,ro-to,all,3,"});
  expect_parts(contents(path("out/estimators-quick-alpha.csv")), {"sgd lr=0.05,any,0,"});
}

TEST_F(PaperEstimators, WhatHasNoDataSaysSo) {
  const Result none = estimators("--data covtype --json");
  EXPECT_EQ(none.exit_code, kData);
  const auto found = json_lines(none.out);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["event"], "no data");
  EXPECT_EQ(found[0]["data"], "covtype");
  EXPECT_EQ(found[1]["event"], "done");
}

TEST_F(PaperEstimators, WhatCannotBeIsRefused) {
  expect_end(estimators("--data nsl-kd", true), kUsage,
             {"estimators has no data set 'nsl-kd'", "did you mean 'nsl-kdd'?"});
  expect_end(estimators("--driver lion", true), kUsage, {"--driver", "lion"});
  expect_end(estimators("--seeds 1", true), kUsage, {"--seeds"});
  expect_end(estimators("--store x.db", true), kUsage, {"--store is not an option of estimators"});
}

TEST_F(PaperEstimators, CtrlCEndsIt) {
  const std::string out = path("out");
  EXPECT_EQ(exit_code_of_ctrl_c({"paper", "estimators", "--data", "nsl-kdd", "--data-dir", path(""),
                                 "--epochs", "100000000", "--out", out},
                                out),
            kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

}  // namespace
}  // namespace tandem::cli
