// SPDX-License-Identifier: MIT
// ResNets in `tandem train`, `study` and `bench deep`, on images that the test makes.
#include <gtest/gtest.h>

#ifdef TANDEM_TORCH_PLUGIN

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_program.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

class DeepCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "cifar-10");
    for (const char* name : {"data_batch_1.bin", "test_batch.bin"}) {
      std::ofstream file(folder_ / "cifar-10" / name, std::ios::binary);
      for (int image = 0; image < 8; ++image) {
        file << static_cast<char>(image % 2);
        for (int pixel = 0; pixel < 3072; ++pixel) {
          file << static_cast<char>((pixel * (image % 2 + 1) + 31 * image) % 256);
        }
      }
    }
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string training(const std::string& more, const std::string& model = "resnet18") const {
    return fmt::format(
        "train --json --data cifar10 --data-dir {} --model {} --optimizer diag-to --lr 0.05 "
        "--alpha 0.1 --beta 0.5 --batch 4 --threads 1 {}",
        path("."), model, more);
  }
  static std::vector<std::string> losses_of(const std::string& output) {
    std::vector<std::string> losses;
    for (const auto& line : json_lines(output)) {
      if (line["event"] == "point") {
        losses.push_back(line["train_loss"].dump() + " " + line["validation_loss"].dump());
      }
    }
    return losses;
  }

  tests::TempFolder folder_;
};

TEST_F(DeepCommand, AKilledRunGoesOnToTheSameBits) {
  const Result whole = program(training("--epochs 3"));
  ASSERT_EQ(whole.exit_code, kDone);
  const std::vector<std::string> expected = losses_of(whole.out);
  ASSERT_EQ(expected.size(), 4U);
  // Killed in the middle of its second epoch or later, then finished.
  const std::string checkpoint = " --checkpoint " + path("run.state");
  const Result killed = program(fmt::format(
      "{} & pid=$!; while [ ! -e {} ]; do sleep 0.05; done; sleep 0.2; kill -9 $pid; true",
      training("--epochs 3" + checkpoint), path("run.state")));
  ASSERT_TRUE(std::filesystem::exists(folder_ / "run.state"));
  const Result rest = program(training("--epochs 3" + checkpoint));
  ASSERT_EQ(rest.exit_code, kDone);
  const std::vector<std::string> last = losses_of(rest.out);
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last.back(), expected.back());
}

TEST_F(DeepCommand, StudiesServeThem) {
  std::ofstream(folder_ / "s.toml") << R"(
name = "tiny"
epochs = 1
seeds = [1, 2]
[[task]]
data = "cifar10"
model = "resnet18:width=4"
batch = 4
[[optimizer]]
name = "adam"
baseline = true
lr = [1e-3, 1e-4]
[[optimizer]]
name = "diag-to"
lr = 0.1
)";
  const std::string files = fmt::format("--store {} ", path("s.db"));
  const Result study = program(
      fmt::format("study {} {} --data-dir {} --threads 1", path("s.toml"), files, path(".")));
  EXPECT_EQ(study.exit_code, kDone);
  const Result report = program("report " + files);
  EXPECT_EQ(report.exit_code, kDone);
  EXPECT_NE(report.out.find("diag-to"), std::string::npos) << report.out;
}

TEST_F(DeepCommand, WidthsAreToldApart) {
  const std::string checkpoint = "--epochs 1 --checkpoint " + path("run.state");
  const Result narrow = program(training(checkpoint, "resnet18:width=8"));
  ASSERT_EQ(narrow.exit_code, kDone);
  // A net that guesses between two classes of ten, at the start too: nothing is measured with
  // statistics that have seen nothing.
  for (const auto& line : json_lines(narrow.out)) {
    if (line["event"] != "point") continue;
    EXPECT_LT(line["train_loss"].get<double>(), 4) << narrow.out;
  }
  // Another width is another run.
  expect_end(program(training(checkpoint, "resnet18:width=4"), true), kData, {"another run"});
  expect_end(program(training(checkpoint, "resnet18"), true), kData, {"another run"});
  EXPECT_EQ(program(training(checkpoint, "resnet18:width=8")).exit_code, kDone);
}

TEST_F(DeepCommand, WhatCannotBeIsRefused) {
  const auto expect_refused = [&](const std::string& more, const std::string& part) {
    expect_end(program(training(more), true), kUsage, {part});
  };
  expect_refused("--init zeros", "a start of its own");
  expect_refused("--diagnose", "diagnose");
  const auto expect_no_model = [&](const std::string& model, const std::string& part) {
    expect_end(program(training("", model), true), kUsage, {part});
    expect_end(program("bench deep --quick --model " + model, true), kUsage, {part});
  };
  expect_no_model("resnet18:width=0", "width is '0', expected a whole number from 1 to 256");
  expect_no_model("resnet50:width=512", "width is '512'");
  expect_no_model("resnet18:8", "found '8' behind the colon, expected width=N");
  expect_no_model("resnet19", "did you mean 'resnet18'");
  const Result data =
      program("train --data synthetic:rows=8,features=5,seed=1 --model resnet18 --batch 4", true);
  EXPECT_EQ(data.exit_code, kUsage);
  EXPECT_NE(data.out.find("3072"), std::string::npos) << data.out;
}

TEST(DeepBench, ReportsItsRatios) {
  const Result result = program("bench deep --quick --json --threads 1");
  EXPECT_EQ(result.exit_code, kDone);
  std::size_t rows = 0;
  for (const auto& line : json_lines(result.out)) rows += line["event"] == "measurement" ? 1 : 0;
  EXPECT_EQ(rows, 3U);
}

}  // namespace
}  // namespace tandem::cli

#else

TEST(DeepCommand, TrainsResNets) {
  GTEST_SKIP() << "the LibTorch part was not built (Debian: libtorch-dev)";
}

#endif
