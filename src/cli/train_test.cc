// SPDX-License-Identifier: MIT
// `tandem train` as a user meets it: against a reference written in numpy (tests/reference),
// resumed, and with bad input.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/test_program.h"

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
  // Waves do not change anything either: 1 MiB is enough for all, so cut finer through the budget's
  // unit.
  EXPECT_EQ(json_lines(grid.out).back()["options"],
            (nlohmann::json{{"lr", "0.3"}, {"alpha", "0.01"}}));
}

TEST(Train, ResumesFromACheckpoint) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tandem-checkpoint-" + std::to_string(getpid()));
  std::filesystem::remove(path);
  const std::string common = "train --json " + kData +
                             "--optimizer ro-to --lr 0.1 --batch 8 --checkpoint " + path.string();
  const std::vector<double> whole = losses_of(
      program("train --json " + kData + "--optimizer ro-to --lr 0.1 --batch 8 --epochs 4").out);
  EXPECT_EQ(program(common + " --epochs 2").exit_code, 0);
  const Result resumed = program(common + " --epochs 4");
  EXPECT_EQ(losses_of(resumed.out), whole);
  // A checkpoint of another run is refused, and stays.
  const Result other = program(common + " --epochs 4 --seed 9", true);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.out.find("another run"), std::string::npos) << other.out;
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
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
  expect(kData + "--batch 0", 2, "Invalid batch");
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
