// SPDX-License-Identifier: MIT
// The contract between the program and a plug-in: a library with what the program must not link,
// loaded when somebody asks for it. Both are built together, which the build id says, so C++ types
// may cross the line; types of the library behind the plug-in may not.
#pragma once

#include <tandem/problem.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "llama/config.h"
#include "tensors/safetensors.h"

namespace tandem::plugin {

/// A training loop, or a part of one, that is made once and then timed again and again.
class Loop {
 public:
  virtual ~Loop() = default;
  virtual void run(std::size_t steps) = 0;
  /// The weights now, one tensor after another.
  virtual std::vector<float> weights() const = 0;
};

/// Steps of an optimizer.
class StepLoop : public Loop {
 public:
  /// As run, with a rate that moves before each step.
  virtual void run_scheduled(std::size_t steps) = 0;
};

/// The parameters of a model, one tensor after another; only read while a Loop is made.
struct Tensors {
  std::span<const std::size_t> sizes;
  std::span<const float> weights;
  std::span<const float> gradient;
};

/// What a classifier is trained on; only read while a Loop is made.
struct Samples {
  std::size_t features = 0;
  std::size_t classes = 0;
  std::span<const float> rows;  // row-major, without a column of ones
  std::span<const std::int64_t> labels;
};

/// A ResNet: its depth, 18 or 50, and the channels of its first convolution. Published ones have
/// 64; a narrower net has fewer channels everywhere, in proportion.
struct ResNetShape {
  static constexpr std::size_t kMostWidth = 256;
  int depth = 18;
  std::size_t width = 64;
};

/// What `tandem bench torch` measures.
struct TorchBench {
  /// Steps of an optimizer with a gradient that stays the same. Its name is that of its class:
  /// "torch::optim::Adam", "tandem::optim::DiagonalTO". Throws std::invalid_argument for others.
  std::unique_ptr<StepLoop> (*optimizer)(const std::string& name, const Tensors& tensors);
  /// Softmax regression from zeros by Adam, as a user of LibTorch writes it: batch after batch of
  /// the rows in this order, and again from its beginning. The bias is the last tensor.
  std::unique_ptr<Loop> (*softmax)(const Samples& samples, std::span<const std::int64_t> order,
                                   std::size_t batch, double lr);
  /// The net of DeepModels::resnet in a loop as a user of LibTorch writes it, with an optimizer by
  /// its class, or "none": forward and backward alone. The task outlives the loop.
  std::unique_ptr<Loop> (*resnet)(const ResNetShape& shape, const data::Task& task,
                                  std::size_t batch, const std::string& optimizer);
};

/// Tokens that a language model is tuned on: the loss is that of the tokens from `response` on.
struct TokenSample {
  std::vector<std::int32_t> tokens;
  std::size_t response = 0;  // from 1 to tokens.size() - 1
};

/// What a Llama is made of. All of it was checked: shapes fit the configuration, every weight is
/// there, tokens are in the vocabulary, samples are no longer than the model's sequence.
struct LlamaRequest {
  llama::Config config;
  std::vector<tensors::Tensor> weights;  // names as llama/config.h has them; F32, F16 or BF16
  std::shared_ptr<const void> owner;     // of the memory that `weights` look at
  std::vector<std::string> trained;      // names among them: the segments, in this order
  std::vector<TokenSample> train;
  std::vector<TokenSample> validation;
  std::size_t micro_batch = 1;  // samples that go through the model together
  double lambda = 0;
};

/// A Llama of which some weights are trained, as float32; the others stay as they are stored.
/// `weights` in calls are those, as segments() has them.
class LanguageModel : public Problem {
 public:
  /// What follows `prompt` when the likeliest token is taken each time: at most `count` tokens, up
  /// to a token of `ends`, which is left out, or the end of the model's sequence.
  virtual std::vector<std::int32_t> generate(std::span<const float> weights,
                                             std::span<const std::int32_t> prompt,
                                             std::size_t count,
                                             std::span<const std::int32_t> ends) const = 0;
  /// Bytes that gradients of a micro-batch need at the most, beyond weights and gradients that are
  /// the caller's: activations, and converted weights.
  virtual std::size_t workspace_bytes() const = 0;
};

/// Models that need LibTorch. Their weights are the caller's; threads are torch's.
struct DeepModels {
  /// Images of 3 x 32 x 32, each a row of 3072 values from 0 to 1 (and a bias column, which is not
  /// used). Throws std::invalid_argument for other data.
  std::unique_ptr<Problem> (*resnet)(const ResNetShape& shape,
                                     std::shared_ptr<const data::Task> task, double lambda);
  std::unique_ptr<LanguageModel> (*llama)(LlamaRequest request);
};

struct Plugin {
  const char* build_id;  // first in every version: nothing else is read where it differs
  /// "LibTorch 1.13.1".
  std::string (*library)();
  void (*set_threads)(int threads);
  TorchBench torch_bench;
  DeepModels deep_models;
};

/// The one symbol that a plug-in has: `extern "C" const Plugin* tandem_plugin_v1()`.
inline constexpr const char* kEntryName = "tandem_plugin_v1";
using Entry = const Plugin* (*)();

}  // namespace tandem::plugin
