// SPDX-License-Identifier: MIT
// Losses, gradients and texts of a Llama that is tuned.
#include "deep/llama_problem.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <tandem/errors.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <thread>

#include "deep/test_llamas.h"
#include "llama/checkpoint.h"
#include "llama/save.h"
#include "tests/real_data.h"
#include "tests/temp_folder.h"
#include "text/tokenizer.h"

namespace tandem::deep {
namespace {

using plugin::LlamaRequest;
using plugin::TokenSample;
using Names = std::vector<std::string>;
using Part = Problem::Part;

/// Samples of different lengths.
std::vector<TokenSample> random_samples(std::size_t count, const llama::Config& config,
                                        std::uint64_t seed) {
  Random random(seed, 3);
  std::vector<TokenSample> samples(count);
  for (TokenSample& sample : samples) {
    const std::size_t length = 2 + random.below(config.sequence - 1);
    for (std::size_t i = 0; i < length; ++i) {
      sample.tokens.push_back(static_cast<std::int32_t>(random.below(config.vocabulary)));
    }
    sample.response = 1 + random.below(length - 1);
  }
  return samples;
}

std::unique_ptr<plugin::LanguageModel> problem_of(const TestLlama& model, const Names& trained,
                                                  std::size_t micro_batch = 3,
                                                  tensors::Type type = tensors::Type::f32) {
  LlamaRequest request = request_of(model, trained, type);
  request.train = random_samples(7, model.config, 1);
  request.validation = random_samples(3, model.config, 2);
  request.micro_batch = micro_batch;
  request.lambda = 0.25;
  return make_llama(std::move(request));
}

std::vector<std::uint32_t> first_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

Floats start_of(const Problem& problem) {
  Floats weights(problem.dimension());
  problem.session(1)->start(weights);
  return weights;
}

struct Gradient {
  Floats values;
  double loss = 0;
};

Gradient gradient_of(const Problem& problem, const Floats& weights, std::size_t rows = 7) {
  Gradient gradient{Floats(weights.size(), 7.0F), 0};  // what was there is not added to
  const auto session = problem.session(1);
  session->batch(Part::train, first_rows(rows))
      ->gradients(1, weights.data(), gradient.values.data(), &gradient.loss);
  return gradient;
}

double loss_of(const Problem& problem, const Floats& weights, Part part = Part::train) {
  LossSum sum;
  const std::size_t rows = part == Part::train ? problem.samples() : problem.validation_samples();
  problem.session(1)->batch(part, first_rows(rows))->losses(1, weights.data(), &sum);
  return sum.loss;
}

/// Relative to the largest.
double difference(const Floats& a, const Floats& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  double apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    apart = std::max(apart, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return apart / largest;
}

Names all_names(const llama::Config& config) {
  Names names;
  for (const llama::WeightEntry& entry : llama::layout(config)) names.push_back(entry.name);
  return names;
}

const Names kSome{"layers.2.attention.wk", "layers.1.feed_forward.w2", "layers.2.ffn_norm"};

TEST(LlamaProblem, SaysWhatItIs) {
  const auto problem = problem_of(random_llama(test_config(), 1), kSome);
  EXPECT_EQ(problem->segments(), (std::vector<std::size_t>{8 * 12, 12 * 20, 12}));
  EXPECT_EQ(problem->samples(), 7U);
  EXPECT_EQ(problem->validation_samples(), 3U);
  EXPECT_EQ(problem->lambda(), 0.25);
  EXPECT_FALSE(problem->classifies());
  EXPECT_EQ(problem->description(),
            "Llama, 3 layers of 12, vocabulary 23, 3 of 30 weights trained (348 numbers)");
}

TEST(LlamaProblem, StartsFromTheCheckpoint) {
  const TestLlama model = random_llama(test_config(), 1);
  for (const tensors::Type type : {tensors::Type::f32, tensors::Type::bf16}) {
    const auto problem = problem_of(model, {"norm", "layers.0.attention.wq"}, 1, type);
    Floats expected = model.weights[llama::norm_index(model.config)];
    const Floats& wq = model.weights[llama::weight_index(0, llama::Part::wq)];
    expected.insert(expected.end(), wq.begin(), wq.end());
    EXPECT_EQ(start_of(*problem), expected);
  }
}

TEST(LlamaProblem, HasTheLossOfTheReference) {
  for (const bool tied : {false, true}) {
    llama::Config config = test_config();
    config.tied = tied;
    const TestLlama model = random_llama(config, 1);
    const auto problem = problem_of(model, kSome);
    const Floats weights = start_of(*problem);
    const ReferenceLlama reference(model);
    double expected = 0;
    for (const TokenSample& sample : random_samples(7, config, 1)) {
      expected += reference.loss(sample);
    }
    EXPECT_NEAR(loss_of(*problem, weights), expected, 1e-5 * expected);
    EXPECT_NEAR(gradient_of(*problem, weights).loss, expected / 7, 1e-5 * expected);
    expected = 0;
    for (const TokenSample& sample : random_samples(3, config, 2)) {
      expected += reference.loss(sample);
    }
    EXPECT_NEAR(loss_of(*problem, weights, Part::validation), expected, 1e-5 * expected);
  }
}

/// Central differences of the reference, which is in double precision, along random directions.
TEST(LlamaProblem, HasTheGradientOfTheReference) {
  for (const bool tied : {false, true}) {
    for (const bool halves : {false, true}) {
      llama::Config config = test_config();
      config.tied = tied;
      config.rope_halves = halves;
      const TestLlama model = random_llama(config, 2);
      const Names names = all_names(config);
      const auto problem = problem_of(model, names);
      const Floats gradient = gradient_of(*problem, start_of(*problem)).values;
      const std::vector<TokenSample> samples = random_samples(7, config, 1);
      Random random(3, 0);
      std::size_t at = 0;
      for (std::size_t i = 0; i < names.size(); ++i) {  // a direction in each weight
        constexpr double kStep = 0x1p-9;
        TestLlama up = model;
        TestLlama down = model;
        double slope = 0;
        double length = 0;
        for (std::size_t k = 0; k < model.weights[i].size(); ++k) {
          const float direction = random.below(2) == 0 ? -1.0F : 1.0F;
          up.weights[i][k] += direction * static_cast<float>(kStep);
          down.weights[i][k] -= direction * static_cast<float>(kStep);
          slope += static_cast<double>(direction) * gradient[at + k];
          length += std::abs(gradient[at + k]);
        }
        at += model.weights[i].size();
        double expected = 0;
        for (const TokenSample& sample : samples) {
          expected += ReferenceLlama(up).loss(sample) - ReferenceLlama(down).loss(sample);
        }
        expected /= 2 * kStep * 7;
        EXPECT_NEAR(slope, expected, 1e-3 * length) << names[i];
      }
    }
  }
}

TEST(LlamaProblem, HasTheSameGradientWhateverElseIsTrained) {
  const TestLlama model = random_llama(test_config(), 1);
  const Names names = all_names(model.config);
  const auto all = problem_of(model, names);
  const Floats whole = gradient_of(*all, start_of(*all)).values;
  const auto expect_part = [&](const Names& trained, tensors::Type type) {
    const auto problem = problem_of(model, trained, 3, type);
    const Floats part = gradient_of(*problem, start_of(*problem)).values;
    Floats expected;
    for (const std::string& name : trained) {
      std::size_t at = 0;
      for (std::size_t i = 0; names[i] != name; ++i) at += model.weights[i].size();
      const auto size =
          llama::layout(model.config)[static_cast<std::size_t>(std::ranges::find(names, name) -
                                                               names.begin())]
              .elements();
      expected.insert(expected.end(), whole.begin() + static_cast<std::ptrdiff_t>(at),
                      whole.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
    EXPECT_LT(difference(part, expected), 1e-5) << trained[0] << " " << type_name(type);
  };
  using tensors::Type;
  for (const Type type : {Type::f32, Type::f16, Type::bf16}) {
    expect_part(kSome, type);
    expect_part({"output"}, type);
    expect_part({"tok_embeddings"}, type);
    expect_part({"norm"}, type);
    expect_part({"layers.0.attention_norm", "layers.0.attention.wo", "output"}, type);
    expect_part({"layers.1.feed_forward.w1", "layers.1.feed_forward.w3"}, type);
  }
}

TEST(LlamaProblem, DoesNotDependOnMicroBatchesOrFilling) {
  const TestLlama model = random_llama(test_config(), 1);
  const auto one = problem_of(model, kSome, 1);  // nothing is filled up
  const Floats weights = start_of(*one);
  const Gradient expected = gradient_of(*one, weights);
  for (const std::size_t micro_batch : {2, 3, 7, 100}) {
    const auto problem = problem_of(model, kSome, micro_batch);
    const Gradient gradient = gradient_of(*problem, weights);
    EXPECT_NEAR(gradient.loss, expected.loss, 1e-6 * expected.loss);
    EXPECT_LT(difference(gradient.values, expected.values), 3e-6) << micro_batch;
    EXPECT_NEAR(loss_of(*problem, weights), 7 * expected.loss, 7e-6 * expected.loss);
    // The same bits again.
    EXPECT_EQ(gradient_of(*problem, weights).values, gradient.values);
  }
}

/// The layers below are computed once: the first gradient and all later ones have the same bits,
/// also of samples that a loss has seen before.
TEST(LlamaProblem, GivesTheSameBitsFromFrozenStatesThatItKept) {
  const TestLlama model = random_llama(test_config(), 1);
  for (const char* trained : {"layers.2.attention.wq", "norm", "layers.1.ffn_norm"}) {
    const auto fresh = problem_of(model, {trained});
    const auto used = problem_of(model, {trained});
    const Floats weights = start_of(*fresh);
    const double loss = loss_of(*used, weights);
    const Gradient first = gradient_of(*fresh, weights);
    EXPECT_EQ(gradient_of(*used, weights).values, first.values) << trained;
    EXPECT_EQ(gradient_of(*fresh, weights).values, first.values) << trained;
    EXPECT_EQ(loss_of(*fresh, weights), loss) << trained;
  }
}

TEST(LlamaProblem, TakesMembersOneAfterAnother) {
  const auto problem = problem_of(random_llama(test_config(), 1), kSome);
  Floats both = start_of(*problem);
  const std::size_t size = both.size();
  both.insert(both.end(), both.begin(), both.end());
  for (std::size_t i = size; i < both.size(); ++i) both[i] *= 0.5F;
  Floats gradients(both.size());
  std::array<double, 2> losses{};
  problem->session(1)
      ->batch(Part::train, first_rows(4))
      ->gradients(2, both.data(), gradients.data(), losses.data());
  for (const std::size_t member : {0, 1}) {
    const auto begin = static_cast<std::ptrdiff_t>(member * size);
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    const Floats weights(both.begin() + begin, both.begin() + end);
    const Gradient alone = gradient_of(*problem, weights, 4);
    EXPECT_EQ(alone.values, Floats(gradients.begin() + begin, gradients.begin() + end));
    EXPECT_EQ(alone.loss, losses[member]);
  }
}

TEST(LlamaProblem, SavesAndLoadsItsSession) {
  const auto problem = problem_of(random_llama(test_config(), 1), kSome);
  const auto other = problem_of(random_llama(test_config(), 1), {"norm"});
  const auto session = problem->session(1);
  std::stringstream stream;
  session->save(stream);
  const std::string saved = stream.str();
  session->load(stream);
  std::stringstream again(saved);
  EXPECT_THROW(other->session(1)->load(again), StateError);
  for (std::size_t kept = 0; kept < saved.size(); ++kept) {
    std::stringstream cut(saved.substr(0, kept));
    EXPECT_THROW(session->load(cut), StateError);
  }
  Floats few(3);
  EXPECT_THROW(session->start(few), std::invalid_argument);
}

TEST(LlamaProblem, RefusesRequestsThatDoNotHoldTogether) {
  const TestLlama model = random_llama(test_config(), 1);
  const auto refuse = [&](const auto& change) {
    LlamaRequest request = request_of(model, kSome);
    request.train = random_samples(2, model.config, 1);
    change(request);
    EXPECT_THROW(make_llama(std::move(request)), std::invalid_argument);
  };
  refuse([](LlamaRequest& request) { request.micro_batch = 0; });
  refuse([](LlamaRequest& request) { request.trained = {"nrm"}; });
  refuse([](LlamaRequest& request) { request.trained = {"norm", "norm"}; });
  refuse([](LlamaRequest& request) { request.trained = {}; });
  refuse([](LlamaRequest& request) { request.weights.pop_back(); });
  refuse([](LlamaRequest& request) { request.weights[1].shape = {3, 4}; });
  refuse([](LlamaRequest& request) { request.weights[1].type = tensors::Type::i32; });
  refuse([](LlamaRequest& request) { request.train[0].tokens[0] = 23; });
  refuse([](LlamaRequest& request) { request.train[0].tokens[0] = -1; });
  refuse([](LlamaRequest& request) { request.train[0].tokens.resize(25); });
  refuse([](LlamaRequest& request) { request.train[0].response = 0; });
  refuse([](LlamaRequest& request) { request.train[0].response = request.train[0].tokens.size(); });
}

TEST(LlamaProblem, GeneratesTheLikeliestTokens) {
  const TestLlama model = random_llama(test_config(), 5);
  const ReferenceLlama reference(model);
  for (const tensors::Type type : {tensors::Type::f32, tensors::Type::bf16}) {
    const auto problem = problem_of(model, kSome, 1, type);
    const Floats weights = start_of(*problem);
    std::vector<std::int32_t> tokens{1, 4, 7};
    const std::vector<std::int32_t> prompt = tokens;
    while (tokens.size() < 24) {  // without a cache
      const std::vector<double> last = reference.logits(tokens).back();
      tokens.push_back(static_cast<std::int32_t>(std::ranges::max_element(last) - last.begin()));
    }
    const std::vector<std::int32_t> expected(tokens.begin() + 3, tokens.end());
    EXPECT_EQ(problem->generate(weights, prompt, 100, {}), expected);  // the end of the sequence
    EXPECT_EQ(problem->generate(weights, prompt, 5, {}),
              std::vector<std::int32_t>(expected.begin(), expected.begin() + 5));
    EXPECT_TRUE(problem->generate(weights, prompt, 0, {}).empty());
    const std::vector<std::int32_t> ends{-1, expected[3]};
    const auto end = std::ranges::find(expected, expected[3]);
    EXPECT_EQ(problem->generate(weights, prompt, 100, ends),
              std::vector<std::int32_t>(expected.begin(), end));
    EXPECT_THROW(problem->generate(weights, {}, 1, {}), std::invalid_argument);
    const std::vector<std::int32_t> unknown{23};
    EXPECT_THROW(problem->generate(weights, unknown, 1, {}), std::invalid_argument);
    const std::vector<std::int32_t> longer(25, 1);
    EXPECT_THROW(problem->generate(weights, longer, 1, {}), std::invalid_argument);
  }
}

/// Counts the bytes of torch's tensors while it lives.
class CountingAllocator : public c10::Allocator {
 public:
  CountingAllocator() : below_(c10::GetCPUAllocator()) {
    now_ = most_ = 0;
    c10::SetCPUAllocator(this, 1);
  }
  ~CountingAllocator() override { c10::SetCPUAllocator(below_, 1); }
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(std::size_t bytes) override { return counted(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
#else
  c10::DataPtr allocate(std::size_t bytes) const override { return counted(bytes); }
#endif
  std::size_t most() const { return most_; }

 private:
  struct Block {
    c10::DataPtr data;
    std::size_t bytes;
  };
  c10::DataPtr counted(std::size_t bytes) const {
    most_ = std::max<std::size_t>(most_, now_ += bytes);
    auto* block = new Block{below_->allocate(bytes), bytes};
    return {block->data.get(), block, &free_block, c10::DeviceType::CPU};
  }
  static void free_block(void* memory) {
    auto* block = static_cast<Block*>(memory);
    now_ -= block->bytes;
    delete block;
  }
  inline static std::atomic<std::size_t> now_ = 0;
  inline static std::atomic<std::size_t> most_ = 0;
  c10::Allocator* below_;
};

TEST(LlamaProblem, PlansItsMemory) {
  llama::Config config = test_config();
  config.dim = 96;
  config.hidden = 256;
  config.layers = 4;
  config.head_dim = 16;
  config.vocabulary = 1000;
  config.sequence = 80;
  const TestLlama model = random_llama(config, 1);
  const auto expect = [&](const Names& trained, tensors::Type type) {
    LlamaRequest request = request_of(model, trained, type);
    for (int i = 0; i < 4; ++i) request.train.push_back({std::vector<std::int32_t>(80, 7), 40});
    request.micro_batch = 4;
    const auto problem = make_llama(std::move(request));
    const Floats weights = start_of(*problem);
    CountingAllocator counting;
    // A thread of its own has no pieces yet; after the first time it has them.
    std::thread([&] {
      for (int i = 0; i < 2; ++i) gradient_of(*problem, weights, 4);
    }).join();
    const auto plan = static_cast<double>(problem->workspace_bytes());
    const double ratio = static_cast<double>(counting.most()) / plan;
    EXPECT_LT(ratio, 1.1) << trained[0] << " " << type_name(type);
    EXPECT_GT(ratio, 0.8) << trained[0] << " " << type_name(type);
  };
  using tensors::Type;
  for (const Type type : {Type::f32, Type::bf16}) {
    expect({"layers.3.attention.wq", "layers.3.attention.wo"}, type);
    expect({"layers.2.attention.wk"}, type);
    expect({"layers.0.attention.wv"}, type);
    expect({"layers.1.feed_forward.w1"}, type);
    expect({"layers.3.feed_forward.w2"}, type);
    expect({"tok_embeddings"}, type);
    expect({"output"}, type);
    expect(all_names(config), type);
  }
}

// ---- The real one -------------------------------------------------------------------------------

class RealLlama : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = tests::real_data_folder() / "llama";
    if (!std::filesystem::exists(folder_ / "stories260K.bin")) GTEST_SKIP() << tests::kNoRealData;
    tokenizer_ = text::open_tokenizer(folder_ / "tok512.bin", 512);
  }

  std::unique_ptr<plugin::LanguageModel> model_of(const llama::Checkpoint& checkpoint,
                                                  const Names& trained) const {
    LlamaRequest request;
    request.config = checkpoint.config();
    request.weights = checkpoint.weights();
    request.owner = checkpoint.owner();
    request.trained = trained;
    TokenSample sample;
    sample.tokens = tokenizer_->encode("Once upon a time, there was a big dog.");
    sample.tokens.insert(sample.tokens.begin(), tokenizer_->bos());
    sample.response = 1;
    request.train = {sample};
    return make_llama(std::move(request));
  }

  std::filesystem::path folder_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
};

const std::string kStory =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball.";

TEST_F(RealLlama, TellsThePublishedStory) {
  const auto checkpoint = llama::Checkpoint::open(folder_ / "stories260K.bin");
  const auto model = model_of(checkpoint, {"layers.4.attention.wq"});
  const std::vector<std::int32_t> prompt{tokenizer_->bos()};
  const auto said = model->generate(start_of(*model), prompt, 100, {});
  const std::string text = tokenizer_->decode(said);
  EXPECT_EQ(text.substr(0, kStory.size()), kStory);
  EXPECT_EQ(model->description(),
            "Llama, 5 layers of 64, vocabulary 512, 1 of 47 weights trained (4096 numbers)");
}

TEST_F(RealLlama, IsTheSameWhenItWasMergedForHuggingFace) {
  auto checkpoint = llama::Checkpoint::open(folder_ / "stories260K.bin");
  const Names trained{"layers.3.attention.wq", "layers.4.feed_forward.w1"};
  const auto model = model_of(checkpoint, trained);
  // One large step, so that the changes show.
  Floats weights = start_of(*model);
  const Gradient gradient = gradient_of(*model, weights, 1);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.1F * gradient.values[i];
  const double loss = loss_of(*model, weights);
  EXPECT_LT(loss, gradient.loss);

  const tests::TempFolder folder;
  llama::save_changed(folder / "changes.safetensors", checkpoint, {trained, weights});
  llama::save_merged(folder / "merged", checkpoint, {trained, weights});
  const auto merged = llama::Checkpoint::open(folder / "merged");
  checkpoint.apply_changes(folder / "changes.safetensors");

  const auto from_changes = model_of(checkpoint, {"norm"});
  EXPECT_NEAR(loss_of(*from_changes, start_of(*from_changes)), loss, 1e-6 * loss);
  const auto from_merged = model_of(merged, {"norm"});
  EXPECT_NEAR(loss_of(*from_merged, start_of(*from_merged)), loss, 1e-5 * loss);
}

}  // namespace
}  // namespace tandem::deep
