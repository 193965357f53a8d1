// SPDX-License-Identifier: MIT
#include "llama/llama2c.h"

#include <gtest/gtest.h>

#include <limits>

#include "llama/test_checkpoints.h"
#include "tests/real_data.h"

namespace tandem::llama {
namespace {

Llama2c parse(const std::string& file) {
  return parse_llama2c(std::as_bytes(std::span(file)), "a.bin");
}

float first(const tensors::Tensor& weight) {
  float value = 0;
  std::memcpy(&value, weight.bytes.data(), sizeof value);
  return value;
}

TEST(Llama2c, FindsEveryWeight) {
  for (const bool tied : {false, true}) {
    Config config = small_config();
    config.tied = tied;
    const std::string file = llama2c_file(config);
    const Llama2c content = parse(file);
    EXPECT_EQ(content.config.tied, tied);
    EXPECT_FALSE(content.config.rope_halves);
    EXPECT_EQ(content.config.head_dim, 2U);
    EXPECT_EQ(content.config.vocabulary, 11U);
    const auto entries = layout(config);
    ASSERT_EQ(content.weights.size(), entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(content.weights[i].name, entries[i].name);
      EXPECT_EQ(content.weights[i].shape, entries[i].shape);
      EXPECT_EQ(content.weights[i].bytes.size(), entries[i].elements() * 4);
    }
    const auto& weights = content.weights;
    EXPECT_EQ(first(weights[kEmbeddingIndex]), 1);
    std::size_t at = 11 * 8 + 1;  // after the embedding
    EXPECT_EQ(first(weights[weight_index(0, Part::attention_norm)]), at);
    EXPECT_EQ(first(weights[weight_index(1, Part::attention_norm)]), at + 8);
    EXPECT_EQ(first(weights[weight_index(0, Part::wq)]), at += 16);
    EXPECT_EQ(first(weights[weight_index(1, Part::wq)]), at + 64);
    EXPECT_EQ(first(weights[weight_index(0, Part::wk)]), at += 128);
    EXPECT_EQ(first(weights[weight_index(0, Part::wv)]), at += 64);
    EXPECT_EQ(first(weights[weight_index(0, Part::wo)]), at += 64);
    EXPECT_EQ(first(weights[weight_index(0, Part::ffn_norm)]), at += 128);
    EXPECT_EQ(first(weights[weight_index(0, Part::w1)]), at += 16);
    EXPECT_EQ(first(weights[weight_index(0, Part::w2)]), at += 192);
    EXPECT_EQ(first(weights[weight_index(0, Part::w3)]), at += 192);
    EXPECT_EQ(first(weights[norm_index(config)]), at += 192);
    if (!tied) {
      EXPECT_EQ(first(weights[output_index(config)]), at + 8 + 16 * 2);
    }
  }
}

TEST(Llama2c, IsRefusedWhereItIsCutOrTooLong) {
  const std::string good = llama2c_file(small_config());
  for (std::size_t kept = 0; kept < good.size(); kept += kept < 64 ? 1 : 97) {
    // In memory of its own, so that a sanitizer sees a byte too many.
    const std::vector<char> bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(kept));
    expect_refused([&] { parse_llama2c(std::as_bytes(std::span(bytes)), "cut"); }, {"cut"});
  }
  expect_refused([&] { parse(good.substr(0, good.size() - 1)); }, {"a.bin", "cut off"});
  expect_refused([&] { parse(good + "x"); }, {"a.bin", "bytes, expected"});
}

TEST(Llama2c, IsRefusedWithWrongNumbers) {
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kSmallest = std::numeric_limits<std::int32_t>::min();
  for (std::size_t field = 0; field < 7; ++field) {
    for (const std::int32_t value : {0, -1, kSmallest, kLargest, 1 << 22, 1 << 30, 3, 7}) {
      std::string file = llama2c_file(small_config());
      std::memcpy(file.data() + 4 * field, &value, sizeof value);
      SCOPED_TRACE("field " + std::to_string(field) + " = " + std::to_string(value));
      expect_refused([&] { parse(file); }, {"a.bin", "expected"});
    }
  }
  std::string file = llama2c_file(small_config());
  const std::int32_t heads = 3;
  std::memcpy(file.data() + 12, &heads, sizeof heads);
  expect_refused([&] { parse(file); }, {"byte 12 (n_heads)", "found 3", "a divisor of dim 8"});
  Config odd = small_config();
  odd.heads = odd.kv_heads = 8;
  odd.head_dim = 1;
  expect_refused([&] { parse(llama2c_file(odd)); }, {"dim / n_heads", "an even number"});
}

TEST(Llama2c, EveryFlippedByteOfTheHeaderIsRefusedOrHarmless) {
  const std::string good = llama2c_file(small_config());
  std::size_t taken = 0;
  for (std::size_t place = 0; place < 28; ++place) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string file = good;
      file[place] = static_cast<char>(file[place] ^ flip);
      try {
        for (const tensors::Tensor& weight : parse(file).weights) {
          ASSERT_GE(weight.bytes.data(), std::as_bytes(std::span(file)).data());
          ASSERT_LE(weight.bytes.data() + weight.bytes.size(),
                    std::as_bytes(std::span(file)).data() + file.size());
        }
        ++taken;
      } catch (const CheckpointError&) {
      }
    }
  }
  EXPECT_LT(taken, 5U);
}

TEST(Llama2c, ReadsTheRealOne) {
  const auto path = tests::real_data_folder() / "llama" / "stories260K.bin";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << tests::kNoRealData;
  const Checkpoint checkpoint = Checkpoint::open(path);
  const Config& config = checkpoint.config();
  EXPECT_EQ(config.dim, 64U);
  EXPECT_EQ(config.hidden, 172U);
  EXPECT_EQ(config.layers, 5U);
  EXPECT_EQ(config.heads, 8U);
  EXPECT_EQ(config.kv_heads, 4U);
  EXPECT_EQ(config.vocabulary, 512U);
  EXPECT_EQ(config.sequence, 512U);
  EXPECT_TRUE(config.tied);
  EXPECT_TRUE(checkpoint.is_llama2c());
  EXPECT_EQ(checkpoint.weights().size(), 47U);
}

}  // namespace
}  // namespace tandem::llama
