// SPDX-License-Identifier: MIT
// `tandem finetune` as a user meets it, on a Llama and instructions that the tests make. Training
// needs the plug-in with LibTorch; what is refused before that does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_program.h"
#include "llama/random_checkpoint.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"
#include "text/test_tokenizers.h"

namespace tandem::cli {
namespace {

class FinetuneCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    const text::Pieces pieces = text::with_bytes({{"th", -1}, {"the", -2}, {" a", -3}});
    llama::Config config;
    config.dim = 16;
    config.hidden = 24;
    config.layers = 2;
    config.heads = 4;
    config.kv_heads = 2;
    config.head_dim = 4;
    config.vocabulary = pieces.size();
    config.sequence = 96;
    llama::write_random_checkpoint(folder_ / "model", config, tensors::Type::bf16, 1);
    std::ofstream(folder_ / "model" / "tokenizer.bin", std::ios::binary)
        << text::llama2c_file(pieces);
    std::ofstream json(folder_ / "data.json");
    json << "[";
    for (int i = 0; i < 24; ++i) {
      json << fmt::format(R"({}{{"instruction": "say {}", "input": "", "output": "the {}"}})",
                          i == 0 ? "" : ",", i, i % 3);
    }
    json << "]";
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string data() const {
    return fmt::format("--data alpaca:file={},template=plain --validation 0.25 ",
                       path("data.json"));
  }
  std::string training(const std::string& more,
                       const std::string& how = "--optimizer adam --lr 0.01 --batch 4") const {
    return fmt::format(
        "finetune --model {} {} {} --micro-batch 2 --steps 12 --measure-every 4 --tokens 8 "
        "--threads 1 {}",
        path("model"), data(), how, more);
  }
  void expect_refused(const std::string& arguments, int code,
                      const std::vector<std::string>& parts) {
    expect_end(program(arguments, true), code, parts);
  }

  tests::TempFolder folder_;
};

TEST_F(FinetuneCommand, MissingAndDamagedFilesAreNamed) {
  expect_refused("finetune --model nowhere.bin " + data(), kData, {"nowhere.bin"});
  expect_refused("finetune --model " + path("model") + " --data alpaca:file=nowhere.json", kData,
                 {"nowhere.json"});
  expect_refused(training("--tokenizer " + path("data.json")), kData, {"data.json"});
  expect_refused("finetune --model " + path("model") + " --steps 0", kUsage, {"--prompt"});
  expect_refused(training("--train 'layers.0.attention.wx'"), kUsage,
                 {"layers.0.attention.wx", "layers.0.attention.w"});
  expect_refused(training("--sequence 97"), kUsage, {"97", "at most 96"});
  expect_refused(training("", "--optimizer adm"), kUsage, {"did you mean 'adam'"});
  expect_refused(training("--out " + path("no/folder/x")), kUsage, {"there is no folder"});
  std::filesystem::resize_file(folder_ / "model" / "model.safetensors", 200);
  expect_refused(training(""), kData, {"model.safetensors"});
}

#ifdef TANDEM_TORCH_PLUGIN

std::vector<double> losses_of(const std::string& output, const char* key = "train_loss") {
  std::vector<double> losses;
  for (const auto& line : json_lines(output)) {
    if (line["event"] == "point") losses.push_back(line[key]);
  }
  return losses;
}

TEST_F(FinetuneCommand, LowersBothLossesAndShowsTexts) {
  const Result result = program(training("--json --train 'layers.*.attention.*' --out " +
                                         path("out.safetensors") + " --merge " + path("merged")));
  ASSERT_EQ(result.exit_code, kDone);
  const std::vector<double> losses = losses_of(result.out);
  ASSERT_EQ(losses.size(), 4U);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_LT(losses_of(result.out, "validation_loss").back(),
            losses_of(result.out, "validation_loss").front());
  std::size_t before = 0;
  std::size_t after = 0;
  for (const auto& line : json_lines(result.out)) {
    if (line["event"] != "text") continue;
    (line["when"] == "before" ? before : after) += 1;
  }
  EXPECT_EQ(before, 2U);
  EXPECT_EQ(after, 2U);
  const auto done = json_lines(result.out).back();
  EXPECT_GT(done["peak_bytes"], 0);

  // What was saved is where the next run starts: alone, and merged (rounded to bfloat16).
  const Result next = program(training("--json --changes " + path("out.safetensors")));
  ASSERT_EQ(next.exit_code, kDone);
  EXPECT_NEAR(losses_of(next.out).front(), losses.back(), 1e-5);
  std::filesystem::copy(folder_ / "model" / "tokenizer.bin", folder_ / "merged" / "tokenizer.bin");
  const Result merged = program(fmt::format(
      "finetune --json --model {} {} --batch 4 --steps 1 --threads 1", path("merged"), data()));
  ASSERT_EQ(merged.exit_code, kDone);
  EXPECT_NEAR(losses_of(merged.out).front(), losses.back(), 0.02);
}

TEST_F(FinetuneCommand, AResumedRunGivesTheSame) {
  const Result whole = program(training("--json"));
  ASSERT_EQ(whole.exit_code, kDone);
  const std::string checkpoint = " --checkpoint " + path("run.state");
  ASSERT_EQ(program(training("--json" + checkpoint)).exit_code, kDone);
  // The run is over: it is measured again from its last checkpoint, and the text is the same.
  const Result again = program(training("--json" + checkpoint));
  ASSERT_EQ(again.exit_code, kDone);
  EXPECT_TRUE(losses_of(again.out).empty());
  EXPECT_EQ(json_lines(again.out).back()["train_loss"], losses_of(whole.out).back());
  expect_refused(training(checkpoint, "--optimizer adam --lr 0.01 --batch 5"), kData,
                 {"run.state", "another run"});
}

TEST_F(FinetuneCommand, RunsOfOneStudyAreComparedByTheReport) {
  const std::string store = " --store " + path("runs.db");
  ASSERT_EQ(program(training(store)).exit_code, kDone);
  ASSERT_EQ(program(training(store + " --label ours", "--optimizer diag-to --lr 0.1 --batch 4"))
                .exit_code,
            kDone);
  const Result report = program("report --study finetune --store " + path("runs.db"));
  EXPECT_EQ(report.exit_code, kDone);
  EXPECT_NE(report.out.find("ours"), std::string::npos) << report.out;
  expect_refused(training(store), kUsage, {"has a run 'adam' with seed 1 already"});
  // Another batch is another study.
  expect_refused(training(store + " --label other", "--batch 3"), kData, {"finetune"});
}

TEST_F(FinetuneCommand, LlamasTrainInStudiesAndInTrain) {
  const Result result = program(fmt::format(
      "train --json {} --model llama:{},train=layers.1.*.wq --optimizer diag-to --lr 0.1 --batch 4 "
      "--epochs 2 --threads 1",
      data(), path("model")));
  ASSERT_EQ(result.exit_code, kDone);
  EXPECT_EQ(losses_of(result.out).size(), 3U);
}

#else

TEST_F(FinetuneCommand, LowersBothLossesAndShowsTexts) {
  GTEST_SKIP() << "the LibTorch part was not built (Debian: libtorch-dev)";
}

#endif

}  // namespace
}  // namespace tandem::cli
