// SPDX-License-Identifier: MIT
// Every optimizer learns something on every real data set that is there, from the paper's random
// start.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/make_problem.h"
#include "tests/real_data.h"
#include "train/trainer.h"

namespace tandem::train {
namespace {

/// Rates that are small enough for all of them; d is up to a million, and the gain of A grows with
/// |w|^2, which is about d.
std::vector<Setting> every_method() {
  const OptionMap whole{{"lr", "0.05"}, {"alpha", "1e-7"}, {"beta", "0.5"}};
  const OptionMap element{{"lr", "0.05"}, {"alpha", "0.01"}, {"beta", "0.5"}};
  const OptionMap plain{{"lr", "0.05"}};
  const OptionMap scaled{{"lr", "0.005"}};
  return {{"full-to", whole},
          {"diag-to", element},
          {"ro-to", whole},
          {"block-to", element},
          {"sgd", plain},
          {"momentum", plain},
          {"nesterov", plain},
          {"adagrad", plain},
          {"rmsprop", scaled},
          {"adam", scaled},
          {"adamw", scaled},
          {"lion", {{"lr", "0.002"}}},
          {"saga", plain},
          {"svrg", plain},
          {"storm", plain},
          {"vradam", scaled},
          {"adam-to", {{"lr", "0.005"}, {"alpha", "0.01"}, {"beta", "0.5"}}}};
}

class RealData : public ::testing::TestWithParam<const char*> {};

TEST_P(RealData, EveryOptimizerLearns) {
  std::string spec = GetParam();
  const std::filesystem::path folder = tests::real_data_folder();
  if (folder.empty() && spec != "fashion-mnist") GTEST_SKIP() << tests::kNoRealData;
  if (spec == "a9a") spec = "libsvm:" + (folder / "libsvm" / "a9a.gz").string();
  std::shared_ptr<const data::Task> task;
  try {
    task = std::make_shared<data::Task>(data::load_task(
        spec, {.search = tests::real_data_search(), .validation = 0, .seed = 1, .options = {}}));
  } catch (const data::DataError& error) {
    GTEST_SKIP() << error.what();
  }
  const auto problem = models::make_problem("logistic", task, 0);
  TrainOptions options;
  options.batch = 64;
  options.epochs = 1;
  Trainer trainer(*problem, every_method(), options);
  trainer.epoch();
  for (const Member& member : trainer.members()) {
    SCOPED_TRACE(member.setting.method);
    EXPECT_FALSE(member.diverged);
    ASSERT_EQ(member.points.size(), 2U);
    EXPECT_LT(member.points[1].train_loss, 0.95 * member.points[0].train_loss);
  }
}

std::string test_name(const ::testing::TestParamInfo<const char*>& set) {
  std::string name = set.param;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sets, RealData, ::testing::Values("nsl-kdd"), test_name);
INSTANTIATE_TEST_SUITE_P(SlowSets, RealData,
                         ::testing::Values("mnist", "fashion-mnist", "covtype", "news20", "cifar10",
                                           "a9a"),
                         test_name);

}  // namespace
}  // namespace tandem::train
