// SPDX-License-Identifier: MIT
// The contract between the program and a plug-in: a library with what the program must not link,
// loaded when somebody asks for it. Both are built together, which the build id says, so C++ types
// may cross the line; types of the library behind the plug-in may not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem::plugin {

/// A training loop, or a part of one, that is made once and then timed again and again.
class Loop {
 public:
  virtual ~Loop() = default;
  virtual void run(std::size_t steps) = 0;
  /// The weights now, one tensor after another.
  virtual std::vector<float> weights() const = 0;
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

/// What `tandem bench torch` measures.
struct TorchBench {
  /// "LibTorch 1.13.1".
  std::string (*library)();
  void (*set_threads)(int threads);
  /// Steps of an optimizer with a gradient that stays the same. Its name is that of its class:
  /// "torch::optim::Adam", "tandem::optim::DiagonalTO". Throws std::invalid_argument for others.
  std::unique_ptr<Loop> (*optimizer)(const std::string& name, const Tensors& tensors);
  /// Softmax regression from zeros by Adam, as a user of LibTorch writes it: batch after batch of
  /// the rows in this order, and again from its beginning. The bias is the last tensor.
  std::unique_ptr<Loop> (*softmax)(const Samples& samples, std::span<const std::int64_t> order,
                                   std::size_t batch, double lr);
};

struct Plugin {
  const char* build_id;  // first in every version: nothing else is read where it differs
  TorchBench torch_bench;
};

/// The one symbol that a plug-in has: `extern "C" const Plugin* tandem_plugin_v1()`.
inline constexpr const char* kEntryName = "tandem_plugin_v1";
using Entry = const Plugin* (*)();

}  // namespace tandem::plugin
