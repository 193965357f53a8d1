// SPDX-License-Identifier: MIT
// ResNet-18 and ResNet-50 for images of 3 x 32 x 32 as functions of weights that somebody else
// owns: the stem is one convolution of 3 x 3 with stride 1, and there is no max-pooling.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem::deep {

/// A tensor of weights. Those of convolutions lie in memory as channels-last: output channel, row,
/// column, input channel.
struct Parameter {
  enum class Kind { convolution, scale, shift, linear };
  std::string name;  // as in torchvision: "layer1.0.conv1.weight"
  Kind kind = Kind::convolution;
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;  // in the flat weights
  std::size_t size = 0;
  std::size_t inputs = 0;  // of the linear layer: what its start depends on
};

/// Statistics of the batch normalisations: tensors of a value a channel, in the order of layers.
struct RunningStatistics {
  std::vector<at::Tensor> means;
  std::vector<at::Tensor> variances;
};

class ResNet {
 public:
  /// Depth 18 or 50; std::invalid_argument for others. The width is the number of channels of the
  /// stem, to which all others are in proportion.
  ResNet(int depth, std::size_t classes, std::size_t width = 64);

  int depth() const { return depth_; }
  std::size_t width() const { return width_; }
  std::size_t classes() const { return classes_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t dimension() const;

  /// Where training starts: convolutions normal with variance 2 / (outputs x kernel), scales 1,
  /// shifts 0, the linear layer uniform within 1 / sqrt(inputs). Depends on the seed alone.
  void start(std::uint64_t seed, std::span<float> weights) const;
  /// Means 0, variances 1.
  RunningStatistics fresh_statistics() const;
  /// The parameters as tensors that look at `weights`, which outlive them.
  std::vector<at::Tensor> tensors(float* weights) const;

  enum class Mode { training, evaluation };
  static constexpr double kMomentum = 0.1;  // of running statistics, as torch's default
  /// Logits of images (count x 3 x 32 x 32, best channels-last). Training normalises by the batch
  /// and moves the statistics by `momentum` towards the batch's, if there are any; evaluation
  /// normalises by the statistics.
  at::Tensor forward(const at::Tensor& images, std::span<const at::Tensor> parameters,
                     const RunningStatistics& statistics, Mode mode,
                     double momentum = kMomentum) const;

 private:
  /// A convolution without bias and the normalisation behind it. Their parameters stand one after
  /// another.
  struct Layer {
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::size_t parameter = 0;   // the convolution's; scale and shift follow
    std::size_t statistics = 0;  // of its normalisation
  };
  /// What a block adds to its input, or to the input's shortcut where shapes differ.
  struct Block {
    std::vector<Layer> layers;
    std::optional<Layer> shortcut;
  };
  struct Pass;

  std::size_t add(Parameter::Kind kind, std::string name, std::vector<std::int64_t> shape);
  Layer add_layer(const std::string& convolution, const std::string& normalisation,
                  std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                  std::int64_t stride);
  Block add_block(const std::string& name, std::int64_t& channels, std::int64_t width,
                  std::int64_t stride);

  int depth_;
  std::size_t classes_;
  std::size_t width_;
  std::vector<Parameter> parameters_;
  std::vector<std::int64_t> normalised_channels_;  // of each normalisation
  Layer stem_;
  std::vector<Block> blocks_;
  std::size_t linear_ = 0;  // its weight; its bias follows
};

}  // namespace tandem::deep
