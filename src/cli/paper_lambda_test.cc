// SPDX-License-Identifier: MIT
// `tandem paper lambda` as a user meets it, on a small made NSL-KDD.
#include "cli/paper_lambda.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/machine.h"
#include "cli/test_kdd.h"
#include "cli/test_program.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

const paper::PaperExperiment& lambda_experiment() {
  const auto& all = paper::paper_experiments();
  return *std::find_if(all.begin(), all.end(), [](const auto& e) { return e.name == "lambda"; });
}

class PaperLambdaCommand : public ::testing::Test {
 protected:
  PaperLambdaCommand() {
    std::ofstream(folder_ / "KDDTest+.txt") << made_kdd(200);
    // No data set of whoever runs this.
    for (const char* name : {"TANDEM_DATA", "XDG_DATA_HOME", "HOME"}) {
      setenv(name, path("").c_str(), 1);
    }
  }
  std::string path(const std::string& name) { return (folder_ / name).string(); }
  Result lambda(const std::string& arguments, bool with_errors = false) {
    return program(fmt::format("paper lambda --data-dir {} --store {} {}", path(""),
                               path("runs.db"), arguments),
                   with_errors);
  }
  PaperOptions options() {
    return {.name = "lambda",
            .budget = "quick",
            .data = {"nsl-kdd"},
            .store = path("runs.db"),
            .data_dir = path(""),
            .out = path("out")};
  }

  tests::TempFolder folder_;
};

TEST_F(PaperLambdaCommand, JsonHasEveryLambdaAndTheLeastIsChosen) {
  const Result result = lambda("--data nsl-kdd --budget full --json");
  EXPECT_EQ(result.exit_code, kDone);
  const auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 1U);
  const nlohmann::json& line = lines[0];
  EXPECT_EQ(line["event"], "lambda");
  EXPECT_EQ(line["data"], "nsl-kdd");
  EXPECT_EQ(line["budget"], "full");
  EXPECT_EQ(line["pruned"], false);
  EXPECT_EQ(line["paper"], 0);
  EXPECT_EQ(line["paper_draws"][0], 0.97);
  ASSERT_EQ(line["lambdas"].size(), 6U);
  EXPECT_EQ(line["lambdas"][1]["lambda"], 5e-4);
  const nlohmann::json* least = &line["lambdas"][0];
  for (const nlohmann::json& entry : line["lambdas"]) {
    EXPECT_EQ(entry["seeds"], 5);
    EXPECT_GT(entry["seeds_loss_deviation"], 0);
    EXPECT_EQ(entry["options"].size(), 2U) << entry;
    EXPECT_GT(entry["epoch"], 0);
    EXPECT_LE(entry["validation_accuracy"], entry["greatest_accuracy"]);
    if (entry["validation_loss"] < (*least)["validation_loss"]) least = &entry;
  }
  EXPECT_EQ(line["chosen"], (*least)["lambda"]);
  EXPECT_EQ(line["draws"].is_null(), line["chosen"] != 0);
  EXPECT_EQ(lambda("--data nsl-kdd --budget full --json").out, result.out);  // from the store
}

TEST_F(PaperLambdaCommand, WhatHasNoDataSaysSoAndNamesItsFiles) {
  const Result some = lambda("--data nsl-kdd covtype");
  EXPECT_EQ(some.exit_code, kDone);
  expect_parts(some.out, {"\ncovtype  ", "no data", "\nnsl-kdd  ", "*", "0.97 0.023"});
  expect_parts(lambda("--data nsl-kdd covtype", true).out,
               {"covtype: no data; it consists of covtype.data.gz.", "Quick: fewer epochs"});
  const Result none = lambda("--data covtype --json");
  EXPECT_EQ(none.exit_code, kData);
  const auto lines = json_lines(none.out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["event"], "no data");
  EXPECT_EQ(lines[0]["data"], "covtype");
  expect_parts(lines[0]["why"], {"covtype.data"});
}

TEST_F(PaperLambdaCommand, RefusesADataSetThatItDoesNotHave) {
  const Result result = lambda("--data nsl-kd", true);
  EXPECT_EQ(result.exit_code, kUsage);
  expect_parts(result.out, {"no data set 'nsl-kd'", "did you mean 'nsl-kdd'?"});
  EXPECT_FALSE(std::filesystem::exists(path("runs.db")));
}

TEST_F(PaperLambdaCommand, WritesItsTables) {
  const Common common{.quiet = true};
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_lambda(lambda_experiment(), options(), common), kDone);
  expect_parts(testing::internal::GetCapturedStdout(), {"nsl-kdd"});
  expect_parts(contents(path("out/lambda-nsl-kdd-quick.md")),
               {"# The choice of lambda", "| nsl-kdd |", "0.97 0.023 0.21 0.088 0.39",
                "`tandem paper lambda --budget quick --data nsl-kdd`", machine_description()});
  const std::string csv = contents(path("out/lambda-nsl-kdd-quick.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  expect_parts(csv, {"validation_loss", "nsl-kdd,logistic,yes,0.0005,", ",yes\r\n", ",no\r\n"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("out")), {}), 2);
}

TEST_F(PaperLambdaCommand, InterruptedItExitsWith130AndGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        catch_interrupts();
        std::raise(SIGINT);
        std::_Exit(run_lambda(lambda_experiment(), options(), Common{.quiet = true}));
      },
      ::testing::ExitedWithCode(kInterrupted), "interrupted; completed work is saved");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  EXPECT_EQ(lambda("--data nsl-kdd").exit_code, kDone);
}

}  // namespace
}  // namespace tandem::cli
