// SPDX-License-Identifier: MIT
#include "models/make_problem.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/llama_model.h"
#include "models/resnet_model.h"

namespace tandem::models {
namespace {

template <class Body>
void expect_refused(const Body& body, const std::string& part) {
  try {
    body();
    ADD_FAILURE() << "not refused, expected: " << part;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

std::shared_ptr<const data::Task> texts() {
  auto task = std::make_shared<data::Task>();
  task->train.name = "alpaca";
  task->train.texts = {{"a question", "an answer"}};
  task->train.rows = 1;
  return task;
}

TEST(CheckModel, KnowsNamesWithoutLookingAtAnything) {
  for (const char* model :
       {"logistic", "ffn:100", "ffn:100,50", "resnet18", "resnet50", "resnet18:width=8",
        "resnet50:width=256", "llama:nowhere.bin", "llama:a/b,train=layers.1.*+norm,sequence=64"}) {
    EXPECT_NO_THROW(check_model(model)) << model;
  }
}

TEST(CheckModel, NamesWhatIsWrong) {
  expect_refused([] { check_model("resnet19"); }, "did you mean 'resnet18'");
  expect_refused([] { check_model("resnet19:width=8"); }, "did you mean 'resnet18'");
  expect_refused([] { check_model("logistic:3"); }, "Unknown model 'logistic:3'");
  expect_refused([] { check_model("resnet18:"); }, "found '' behind the colon");
  expect_refused([] { check_model("resnet18:3"); },
                 "'resnet18:3': found '3' behind the colon, expected width=N");
  expect_refused([] { check_model("resnet18:wdth=8"); }, "found 'wdth=8'");
  expect_refused([] { check_model("resnet50:width"); }, "as in resnet50:width=8");
  for (const char* width : {"", "0", "257", "-1", "8,width=9", "8.5", "99999999999999999999"}) {
    expect_refused([&] { check_model(std::string("resnet18:width=") + width); },
                   fmt::format("width is '{}', expected a whole number from 1 to 256", width));
  }
  expect_refused([] { check_model("llama"); }, "Unknown model 'llama'");
  expect_refused([] { check_model("ffn:0"); }, "ffn:100");
  expect_refused([] { check_model("llama:"); }, "expected llama:CHECKPOINT");
  expect_refused([] { check_model("llama:x,trian=norm"); }, "did you mean 'train'");
  expect_refused([] { check_model("llama:x,train"); }, "train has no value");
  expect_refused([] { check_model("llama:x,sequence=none"); }, "sequence is 'none'");
  expect_refused([] { check_model("llama:x,micro_batch=0"); }, "micro_batch is '0'");
}

TEST(ParseResNet, ReadsDepthAndWidth) {
  const auto shape = [](const char* model) {
    const plugin::ResNetShape found = parse_resnet(model);
    return std::pair(found.depth, found.width);
  };
  EXPECT_EQ(shape("resnet18"), std::pair(18, std::size_t{64}));
  EXPECT_EQ(shape("resnet50"), std::pair(50, std::size_t{64}));
  EXPECT_EQ(shape("resnet18:width=1"), std::pair(18, std::size_t{1}));
  EXPECT_EQ(shape("resnet50:width=256"), std::pair(50, std::size_t{256}));
  expect_refused([] { parse_resnet("logistic"); }, "Unknown ResNet 'logistic'");
}

TEST(ParseLlama, ReadsEveryOption) {
  const LlamaOptions options = parse_llama(
      "llama:dir/m.bin,tokenizer=t.model,changes=c.safetensors,train=layers.0.*+norm,sequence=64,"
      "micro_batch=2");
  EXPECT_EQ(options.checkpoint, "dir/m.bin");
  EXPECT_EQ(options.tokenizer, "t.model");
  EXPECT_EQ(options.changes, "c.safetensors");
  EXPECT_EQ(options.train, (std::vector<std::string>{"layers.0.*", "norm"}));
  EXPECT_EQ(options.sequence, 64U);
  EXPECT_EQ(options.micro_batch, 2U);
}

TEST(MakeProblem, TextsAndFeaturesAreToldApart) {
  expect_refused([] { make_problem("logistic", texts(), 0); }, "has texts, not features");
  expect_refused([] { make_problem("ffn:3", texts(), 0); }, "has texts, not features");
  const auto rows =
      std::make_shared<data::Task>(data::load_task("synthetic:rows=4,features=2,seed=1", {}));
  expect_refused([&] { make_problem("llama:nowhere.bin", rows, 0); }, "has none");
}

TEST(MakeProblem, ACheckpointThatIsNotThereIsMissingData) {
  EXPECT_THROW(make_problem("llama:nowhere.bin", texts(), 0), data::DataError);
}

}  // namespace
}  // namespace tandem::models
