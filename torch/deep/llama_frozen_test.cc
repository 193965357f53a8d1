// SPDX-License-Identifier: MIT
#include "deep/llama_frozen.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <utility>

#include "deep/test_llamas.h"

namespace tandem::deep {
namespace {

using llama::Part;
using plugin::TokenSample;

const std::vector<TokenSample> kSamples{
    {{1, 5, 22, 0, 7, 7, 13, 2, 9, 4, 18}, 3}, {{3, 3, 8}, 1}, {{2, 21}, 1}, {{4, 6, 1, 0, 12}, 2}};

std::size_t frozen(const llama::Config& config, std::vector<std::size_t> trained) {
  return LlamaFrozen(config, trained, kSamples, {}).layers();
}

TEST(LlamaFrozen, KnowsTheLayersBelowTheFirstTrainedWeight) {
  llama::Config config = test_config();  // three layers
  EXPECT_EQ(frozen(config, {llama::weight_index(2, Part::attention_norm)}), 2U);
  EXPECT_EQ(frozen(config, {llama::weight_index(2, Part::w2)}), 2U);
  EXPECT_EQ(frozen(config, {llama::norm_index(config), llama::weight_index(1, Part::wo)}), 1U);
  EXPECT_EQ(frozen(config, {llama::weight_index(0, Part::w2), llama::weight_index(1, Part::w2)}),
            0U);
  EXPECT_EQ(frozen(config, {llama::norm_index(config)}), 3U);
  EXPECT_EQ(frozen(config, {llama::output_index(config)}), 3U);
  EXPECT_EQ(frozen(config, {llama::kEmbeddingIndex, llama::norm_index(config)}), 0U);
  config.tied = true;  // the output is the embedding
  EXPECT_EQ(frozen(config, {llama::output_index(config)}), 0U);
}

TEST(LlamaFrozen, KeepsNothingBeyondItsLimit) {
  llama::Config config = test_config();
  const std::vector<std::size_t> trained{llama::norm_index(config)};
  EXPECT_EQ(LlamaFrozen(config, trained, kSamples, {}).bytes(), 17 * 12 * sizeof(float));
  EXPECT_EQ(LlamaFrozen(config, trained, {}, kSamples).bytes(), 17 * 12 * sizeof(float));
  config.dim = kFrozenBytes / sizeof(float) / 17;
  EXPECT_EQ(LlamaFrozen(config, trained, kSamples, {}).layers(), 3U);
  config.dim += 1;
  const LlamaFrozen none(config, trained, kSamples, {});
  EXPECT_EQ(none.layers(), 0U);
  EXPECT_EQ(none.bytes(), 0U);
}

TEST(LlamaFrozen, GivesTheStatesOfTheModelOnceComputed) {
  const TestLlama model = random_llama(test_config(), 1);
  for (const tensors::Type type : {tensors::Type::f32, tensors::Type::bf16}) {
    const plugin::LlamaRequest request = request_of(model, {"norm"}, type);
    LlamaWeights weights;
    for (const tensors::Tensor& weight : request.weights) weights.push_back(stored_tensor(weight));
    LlamaFrozen states(model.config, std::vector{llama::weight_index(2, Part::wq)}, kSamples, {});
    const std::vector<const TokenSample*> both{&kSamples[1], &kSamples[0]};
    const at::Tensor rows = states.states(weights, both, 10);
    ASSERT_EQ(rows.size(0), 20);
    EXPECT_FALSE(rows.requires_grad());
    EXPECT_EQ(rows.narrow(0, 2, 8).abs().sum().item<double>(), 0);  // what is filled up
    std::int64_t first = 0;
    for (const TokenSample* sample : both) {
      std::vector<std::int64_t> tokens(sample->tokens.begin(), sample->tokens.end() - 1);
      const auto length = static_cast<std::int64_t>(tokens.size());
      const at::NoGradGuard no_gradient;
      const at::Tensor expected = llama_layers(
          model.config, weights,
          llama_embedded(weights, at::from_blob(tokens.data(), {1, length}, at::kLong)), 1, 0, 2);
      EXPECT_TRUE(rows.narrow(0, first, length).equal(expected));
      first += 10;
    }
    // Other company, other length: the same bits; and without looking at the weights again.
    const std::vector<const TokenSample*> alone{&kSamples[0]};
    EXPECT_TRUE(states.states({}, alone, 10).equal(rows.narrow(0, 10, 10)));
  }
}

}  // namespace
}  // namespace tandem::deep
