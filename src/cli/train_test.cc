// SPDX-License-Identifier: MIT
// `tandem train` as a user meets it: against a reference written in numpy (tests/reference),
// resumed, and with bad input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_program.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

const std::string kReference = std::string(TANDEM_SOURCE_DIR) + "/tests/reference/";
const std::string kData = "--data libsvm:" + kReference + "softmax_fixture.libsvm ";
const std::string kPure = "--init zeros --shuffle off ";

std::vector<double> losses_of(const std::string& output) {
  std::vector<double> losses;
  for (const auto& line : json_lines(output)) {
    if (line["event"] == "point") losses.push_back(line["train_loss"]);
  }
  return losses;
}

TEST(Train, EqualsTheNumpyReference) {
  std::ifstream stream(kReference + "softmax_fixture.json");
  const auto fixture = nlohmann::json::parse(stream);
  for (const auto& run : fixture["runs"]) {
    std::string arguments = "train --json " + kData + kPure + "--optimizer " +
                            run["optimizer"].get<std::string>() + " --batch " +
                            fixture["batch"].dump() + " --epochs " + fixture["epochs"].dump() +
                            " --lambda " + fixture["lambda"].dump();
    for (const auto& [name, value] : run["options"].items()) {
      arguments += " --option " + name + "=" + value.dump();
    }
    const Result result = program(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments;
    const std::vector<double> losses = losses_of(result.out);
    ASSERT_EQ(losses.size(), run["losses"].size()) << arguments;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const double expected = run["losses"][i];
      EXPECT_NEAR(losses[i], expected, 5e-6 * expected) << arguments << " epoch " << i;
    }
    const auto done = json_lines(result.out).back();
    EXPECT_EQ(done["event"], "done");
    EXPECT_EQ(done["min_train_loss"], *std::min_element(losses.begin(), losses.end()));
  }
}

/// The loss has two parts, both of which are told; with the softmax taken twice it has a floor.
TEST(Train, TellsTheLossWithoutItsRegulariser) {
  for (const std::string loss : {"cross-entropy", "double-softmax"}) {
    const Result result = program("train --json " + kData +
                                  "--optimizer adam --lr 0.1 --epochs 3 --batch 8 --lambda 0.5 "
                                  "--loss " +
                                  loss);
    EXPECT_EQ(result.exit_code, 0);
    std::size_t points = 0;
    for (const auto& line : json_lines(result.out)) {
      if (line["event"] != "point") continue;
      ++points;
      const double data = line["data_loss"];
      const double square = line["squared_norm"];
      EXPECT_EQ(line["train_loss"].get<double>(), data + 0.5 / 2 * square);
      if (loss == "double-softmax") {
        EXPECT_GT(data, 0.3132);
        EXPECT_LT(data, 3);
      }
    }
    EXPECT_EQ(points, 4U);
  }
  expect_parts(program("train " + kData + "--loss double-softmax --epochs 1 --batch 8", true).out,
               {"softmax twice (no loss is below"});
  expect_end(program("train " + kData + "--loss hinge", true), kUsage, {"hinge"});
}

TEST(Train, GridsAreOnePopulationAndItsMembersAreTheSingleRuns) {
  const std::string common = "train --json " + kData + "--optimizer diag-to --epochs 2 --batch 8 ";
  const Result grid = program(common + "--lr 0.1,0.3 --alpha 0,0.01 --threads 2");
  EXPECT_EQ(grid.exit_code, 0);
  std::vector<double> of_last;
  for (const auto& line : json_lines(grid.out)) {
    if (line["event"] == "point" && line["member"] == 3) of_last.push_back(line["train_loss"]);
  }
  const Result single = program(common + "--lr 0.3 --alpha 0.01 --threads 1");
  EXPECT_EQ(of_last, losses_of(single.out));
  EXPECT_EQ(json_lines(grid.out).back()["options"],
            (nlohmann::json{{"lr", "0.3"}, {"alpha", "0.01"}}));
}

TEST(Train, ResumesFromACheckpoint) {
  const tests::TempFolder folder;
  const auto path = folder / "checkpoint";
  const std::string common = "train --json " + kData +
                             "--optimizer ro-to --lr 0.1 --batch 8 --checkpoint " + path.string();
  const std::vector<double> whole = losses_of(
      program("train --json " + kData + "--optimizer ro-to --lr 0.1 --batch 8 --epochs 4").out);
  EXPECT_EQ(program(common + " --epochs 2").exit_code, 0);
  const Result resumed = program(common + " --epochs 4");
  EXPECT_EQ(losses_of(resumed.out), whole);
  // A checkpoint of another run is refused, and stays.
  const Result other = program(common + " --epochs 4 --seed 9", true);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.out.find("another run"), std::string::npos) << other.out;
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Train, WavesDoNotChangeAnything) {
  const std::string common =
      "train --data synthetic:rows=300,features=2000,classes=20,seed=3 --optimizer diag-to "
      "--epochs 2 --lr 0.01,0.02,0.05 --alpha 0,0.001 ";
  const Result said = program(common + "--memory 1", true);
  EXPECT_NE(said.out.find("6 members in 3 waves"), std::string::npos) << said.out;
  const auto by_member = [](const Result& result) {
    std::map<int, std::vector<double>> losses;
    for (const auto& line : json_lines(result.out)) {
      if (line["event"] == "point") losses[line["member"]].push_back(line["train_loss"]);
    }
    return losses;
  };
  const auto waves = by_member(program(common + "--json --memory 1"));
  EXPECT_EQ(waves.size(), 6U);
  EXPECT_EQ(waves, by_member(program(common + "--json")));
  const Result small = program(
      "train --data synthetic:rows=300,features=20000,classes=20 "
      "--optimizer adam --memory 1",
      true);
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_NE(small.out.find("memory budget"), std::string::npos) << small.out;
}

TEST(Train, TellsTheDistanceToTheOptimum) {
  const tests::TempFolder folder;
  const auto path = folder / "optimum";
  const Result optimum =
      program("optimum --json --lambda 0.1 " + kData + "--save " + path.string());
  EXPECT_EQ(optimum.exit_code, 0);
  const auto told = json_lines(optimum.out).front();
  EXPECT_EQ(told["event"], "optimum");
  EXPECT_EQ(told["converged"], true);
  EXPECT_LE(told["gradient_norm"], 1e-9);
  const std::string train =
      "train --json --lambda 0.1 --optimizer saga --lr 0.2 --batch 4 --epochs 60 " + kData;
  const auto lines = json_lines(program(train + "--optimum " + path.string()).out);
  const auto& last = lines[lines.size() - 2];
  EXPECT_LT(last["distance"], 1e-6);
  EXPECT_GT(lines.front()["distance"], 1);
  // By strong convexity the gap is at least lambda/2 of the distance; both near 0 here.
  EXPECT_NEAR(last["train_loss"].get<double>(), told["loss"].get<double>(), 1e-6);

  const auto refused = [&](const std::string& arguments, int code, const std::string& message) {
    const Result result = program(arguments, true);
    EXPECT_EQ(result.exit_code, code) << result.out;
    EXPECT_NE(result.out.find(message), std::string::npos) << result.out;
  };
  refused("train --lambda 0.2 --batch 4 --optimum " + path.string() + " " + kData, 3, "lambda");
  refused("train --lambda 0.1 --batch 4 --optimum /does/not/exist " + kData, 3, "/does/not/exist");
  refused("train --model ffn:4 --batch 4 --optimum " + path.string() + " " + kData, 2, "--optimum");
}

TEST(Train, CtrlCKeepsTheCheckpointAndTheRunGoesOn) {
  const tests::TempFolder folder;
  const auto path = folder / "checkpoint";
  const std::string common =
      "--json --data synthetic:rows=4000,features=50,seed=2 --optimizer diag-to --lr 0.05 "
      "--epochs 150 --batch 16";
  // Interrupted later each time, so that it ends on the slowest machine.
  int code = kInterrupted;
  int interruptions = 0;
  for (double seconds = 0.3; code == kInterrupted && seconds < 200; seconds *= 1.3) {
    const std::string command = "timeout --preserve-status -s INT " + std::to_string(seconds) +
                                " " + TANDEM_PROGRAM + " train " + common + " --checkpoint " +
                                path.string() + " > /dev/null 2>&1";
    code = WEXITSTATUS(std::system(command.c_str()));
    if (code == kInterrupted) ++interruptions;
  }
  EXPECT_EQ(code, kDone);
  const Result rest = program("train " + common + " --checkpoint " + path.string());
  EXPECT_EQ(losses_of(rest.out), losses_of(program("train " + common).out))
      << interruptions << " interruptions";
}

TEST(Train, SaysWhatIsWrong) {
  const auto expect = [](const std::string& arguments, int code, const std::string& message) {
    const Result result = program("train " + arguments, true);
    EXPECT_EQ(result.exit_code, code) << arguments << ": " << result.out;
    EXPECT_NE(result.out.find(message), std::string::npos) << arguments << ": " << result.out;
  };
  expect("", 2, "--data is required");
  expect("--data mnits", 2, "did you mean 'mnist'?");
  expect("--data libsvm:/does/not/exist", 3, "/does/not/exist");
  expect(kData + "--optimizer adma", 2, "did you mean 'adam'?");
  expect(kData + "--batch 8 --lr -1", 2, "Invalid lr: -1");
  expect(kData + "--batch 8 --option learning_rate=1", 2, "Unknown option 'learning_rate'");
  expect(kData + "--option lr", 2, "expected NAME=VALUE");
  expect(kData + "--batch 44", 2, "Invalid batch: 44, expected 1 to 43");
  expect(kData + "--batch 0", 2, "--batch: found '0'");
  expect(kData + "--batch 999999", 2, "Invalid batch: 999999, expected 1 to");
  expect(kData + "--model logisitc", 2, "did you mean 'logistic'?");
  expect(kData + "--lambda -1", 2, "--lambda");
  expect(kData + "--init random", 2, "--init");
  expect(kData + "--checkpoint /does/not/exist/file --batch 8", 1, "/does/not/exist/file");
}

TEST(Train, ADivergedRunFails) {
  const Result result =
      program("train --json " + kData + "--optimizer sgd --lr 1e30 --batch 8 --epochs 2");
  EXPECT_EQ(result.exit_code, 1);
  const auto done = json_lines(result.out).back();
  EXPECT_EQ(done["diverged"], true);
  EXPECT_TRUE(done["min_train_loss"].is_null());
}

}  // namespace
}  // namespace tandem::cli
