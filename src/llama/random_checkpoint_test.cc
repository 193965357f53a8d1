// SPDX-License-Identifier: MIT
#include "llama/random_checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "llama/convert.h"
#include "llama/test_checkpoints.h"

namespace tandem::llama {
namespace {

using tensors::Type;

Config wide_config() {
  Config config = small_config();
  config.dim = 64;
  config.head_dim = 16;
  config.vocabulary = 301;
  return config;
}

TEST_F(CheckpointTest, RandomOnesOpen) {
  const Config config = wide_config();
  for (const Type type : {Type::f32, Type::f16, Type::bf16}) {
    const auto folder = folder_ / std::string(type_name(type));
    write_random_checkpoint(folder, config, type, 1);
    const Checkpoint checkpoint = Checkpoint::open(folder);
    EXPECT_EQ(checkpoint.config().dim, 64U);
    double sum = 0;
    double squares = 0;
    const auto values = to_floats(checkpoint.weights()[0]);
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
    const auto count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count, 0, 0.001);
    EXPECT_NEAR(std::sqrt(squares / count), 0.02, 0.001);
    for (const float value : to_floats(checkpoint.weights()[norm_index(config)])) {
      EXPECT_EQ(value, 1.0F);
    }
  }
}

TEST_F(CheckpointTest, RandomOnesAreTheSameInManyFiles) {
  const Config config = wide_config();
  write_random_checkpoint(folder_ / "one", config, Type::bf16, 1);
  write_random_checkpoint(folder_ / "many", config, Type::bf16, 1, 10000);
  write_random_checkpoint(folder_ / "other", config, Type::bf16, 2);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "many" / "model.safetensors.index.json"));
  const std::string hash = Checkpoint::open(folder_ / "one").hash();
  EXPECT_EQ(Checkpoint::open(folder_ / "many").hash(), hash);
  EXPECT_NE(Checkpoint::open(folder_ / "other").hash(), hash);
}

TEST_F(CheckpointTest, RandomOnesAreRefusedOutOfLimits) {
  Config config = wide_config();
  config.kv_heads = 3;
  expect_refused([&] { write_random_checkpoint(folder_ / "x", config, Type::f32, 1); },
                 {"kv_heads", "a divisor of the 4 heads"});
}

}  // namespace
}  // namespace tandem::llama
