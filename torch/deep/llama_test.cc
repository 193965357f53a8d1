// SPDX-License-Identifier: MIT
// The forward pass against loops in double precision.
#include "deep/llama.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <utility>

#include "deep/test_llamas.h"

namespace tandem::deep {
namespace {

const std::vector<std::int32_t> kTokens{1, 5, 22, 0, 7, 7, 13, 2, 9, 4, 18};

LlamaWeights tensors_of(const plugin::LlamaRequest& request) {
  LlamaWeights weights;
  for (const tensors::Tensor& weight : request.weights) weights.push_back(stored_tensor(weight));
  return weights;
}

at::Tensor token_tensor(const std::vector<std::int32_t>& tokens) {
  const std::vector<std::int64_t> wide(tokens.begin(), tokens.end());
  return at::from_blob(const_cast<std::int64_t*>(wide.data()),
                       {1, static_cast<std::int64_t>(wide.size())}, at::kLong)
      .clone();
}

Matrix logits_of(const llama::Config& config, const LlamaWeights& weights,
                 const std::vector<std::int32_t>& tokens) {
  const at::NoGradGuard no_gradient;
  const at::Tensor states = llama_states(config, weights, token_tensor(tokens));
  const at::Tensor logits = llama_logits(config, weights, llama_last_norm(config, weights, states));
  Matrix rows;
  for (std::int64_t t = 0; t < logits.size(0); ++t) {
    const float* row = logits.data_ptr<float>() + t * logits.size(1);
    rows.emplace_back(row, row + logits.size(1));
  }
  return rows;
}

/// Relative to the largest.
double difference(const Matrix& a, const Matrix& b) {
  double largest = 0;
  double apart = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::size_t i = 0; i < a[t].size(); ++i) {
      largest = std::max(largest, std::abs(b[t][i]));
      apart = std::max(apart, std::abs(a[t][i] - b[t][i]));
    }
  }
  return apart / largest;
}

TEST(Llama, GivesTheLogitsOfTheReference) {
  for (const bool tied : {false, true}) {
    for (const bool halves : {false, true}) {
      for (const std::size_t kv_heads : {1, 2, 3, 6}) {
        llama::Config config = test_config();
        config.tied = tied;
        config.rope_halves = halves;
        config.kv_heads = kv_heads;
        config.rope_theta = halves ? 500 : 10000;
        const TestLlama model = random_llama(config, kv_heads);
        const plugin::LlamaRequest request = request_of(model, {});
        const Matrix ours = logits_of(config, tensors_of(request), kTokens);
        EXPECT_LT(difference(ours, ReferenceLlama(model).logits(kTokens)), 1e-5)
            << tied << halves << kv_heads;
      }
    }
  }
}

TEST(Llama, DoesNotDependOnTheTypeOfItsWeightsOrTheirAddress) {
  const TestLlama model = random_llama(test_config(), 1);
  const plugin::LlamaRequest request = request_of(model, {});
  const Matrix expected = logits_of(model.config, tensors_of(request), kTokens);
  using tensors::Type;
  for (const Type type : {Type::f32, Type::f16, Type::bf16}) {
    for (const std::size_t apart : {0, 1, 2}) {
      const plugin::LlamaRequest other = request_of(model, {}, type, apart);
      EXPECT_LT(difference(logits_of(model.config, tensors_of(other), kTokens), expected), 1e-6)
          << type_name(type) << " " << apart;
    }
  }
}

/// Larger than a piece that is converted at a time.
TEST(Llama, ConvertsLargeMatricesInPieces) {
  llama::Config config = test_config();
  config.layers = 1;
  config.dim = 256;
  config.tied = true;
  config.vocabulary = 2 * kConvertedBytes / sizeof(float) / config.dim + 3;
  const TestLlama model = random_llama(config, 1);
  const plugin::LlamaRequest exact = request_of(model, {});
  const plugin::LlamaRequest narrow = request_of(model, {}, tensors::Type::bf16);
  EXPECT_LT(difference(logits_of(config, tensors_of(narrow), {1, 2, 3}),
                       logits_of(config, tensors_of(exact), {1, 2, 3})),
            1e-6);
}

TEST(Llama, HasTheSameLogitsInBothOrdersOfRows) {
  const TestLlama model = random_llama(test_config(), 4);
  TestLlama other = model;
  other.config.rope_halves = true;
  const std::size_t head_dim = model.config.head_dim;
  const std::size_t dim = model.config.dim;
  for (std::size_t layer = 0; layer < model.config.layers; ++layer) {
    for (const llama::Part part : {llama::Part::wq, llama::Part::wk}) {
      const Floats& from = model.weights[llama::weight_index(layer, part)];
      Floats& to = other.weights[llama::weight_index(layer, part)];
      for (std::size_t row = 0; row < from.size() / dim; ++row) {
        const std::size_t inside = row % head_dim;
        const std::size_t target = row - inside + inside / 2 + inside % 2 * head_dim / 2;
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * dim), dim,
                    to.begin() + static_cast<std::ptrdiff_t>(target * dim));
      }
    }
  }
  EXPECT_LT(difference(logits_of(other.config, tensors_of(request_of(other, {})), kTokens),
                       logits_of(model.config, tensors_of(request_of(model, {})), kTokens)),
            1e-6);
}

TEST(Llama, KeepsNoGraphBelowTheFirstTrainedWeight) {
  const TestLlama model = random_llama(test_config(), 1);
  const plugin::LlamaRequest request = request_of(model, {}, tensors::Type::bf16);
  const LlamaWeights frozen = tensors_of(request);
  const at::AutoGradMode with_gradient(true);
  llama::Config two = model.config;
  two.layers = 2;
  LlamaWeights weights = frozen;
  at::Tensor& wq = weights[llama::weight_index(2, llama::Part::wq)];
  wq = wq.to(at::kFloat).set_requires_grad(true);
  EXPECT_FALSE(llama_states(two, weights, token_tensor(kTokens)).requires_grad());
  EXPECT_TRUE(llama_states(model.config, weights, token_tensor(kTokens)).requires_grad());
  EXPECT_FALSE(llama_states(model.config, frozen, token_tensor(kTokens)).requires_grad());
}

TEST(Llama, GoesOnFromItsCache) {
  const TestLlama model = random_llama(test_config(), 6);
  const plugin::LlamaRequest request = request_of(model, {});
  const LlamaWeights weights = tensors_of(request);
  const at::NoGradGuard no_gradient;
  const at::Tensor whole = llama_states(model.config, weights, token_tensor(kTokens));
  KeyValueCache cache(model.config, kTokens.size());
  std::int64_t at = 0;
  for (const std::int64_t count : {4, 1, 1, 3, 2}) {
    const std::vector<std::int32_t> part(kTokens.begin() + at, kTokens.begin() + at + count);
    const at::Tensor states = llama_states(model.config, weights, token_tensor(part), &cache);
    EXPECT_LT(states.sub(whole.narrow(0, at, count)).abs().max().item<float>(), 1e-4F);
    at += count;
  }
  EXPECT_EQ(cache.length, 11);
}

}  // namespace
}  // namespace tandem::deep
