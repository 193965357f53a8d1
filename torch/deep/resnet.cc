// SPDX-License-Identifier: MIT
#include "deep/resnet.h"

#include <ATen/Parallel.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/random.h"
#include "plugin/plugin.h"

namespace tandem::deep {
namespace {

constexpr double kEpsilon = 1e-5;

// What random numbers are for: a stream a parameter, far from those of others.
constexpr std::uint64_t kStartStream = std::uint64_t{1} << 32;

/// Blocks of each of the four stages.
std::vector<std::size_t> stage_blocks(int depth) {
  switch (depth) {
    case 18:
      return {2, 2, 2, 2};
    case 50:
      return {3, 4, 6, 3};
    default:
      throw std::invalid_argument(
          fmt::format("Invalid depth of a ResNet: {}, expected 18 or 50", depth));
  }
}

std::vector<std::int64_t> strides_of(const Parameter& parameter) {
  const std::vector<std::int64_t>& shape = parameter.shape;
  if (parameter.kind == Parameter::Kind::convolution) {
    return {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
  }
  if (shape.size() == 2) return {shape[1], 1};
  return {1};
}

void start_parameter(const Parameter& parameter, Random random, std::span<float> values) {
  switch (parameter.kind) {
    case Parameter::Kind::convolution: {
      const auto fan_out =
          static_cast<double>(parameter.shape[0] * parameter.shape[2] * parameter.shape[3]);
      const double deviation = std::sqrt(2 / fan_out);
      for (float& value : values) value = static_cast<float>(deviation * random.normal());
      break;
    }
    case Parameter::Kind::scale:
      std::fill(values.begin(), values.end(), 1.0F);
      break;
    case Parameter::Kind::shift:
      std::fill(values.begin(), values.end(), 0.0F);
      break;
    case Parameter::Kind::linear: {
      const double bound = 1 / std::sqrt(static_cast<double>(parameter.inputs));
      for (float& value : values) {
        value = static_cast<float>(bound * (2 * random.uniform() - 1));
      }
      break;
    }
  }
}

}  // namespace

// ---- Structure ----------------------------------------------------------------------------------

ResNet::ResNet(int depth, std::size_t classes, std::size_t width)
    : depth_(depth), classes_(classes), width_(width) {
  const std::vector<std::size_t> stages = stage_blocks(depth);
  if (classes < 2) {
    throw std::invalid_argument(
        fmt::format("Invalid number of classes of a ResNet: {}, expected at least 2", classes));
  }
  if (width == 0 || width > plugin::ResNetShape::kMostWidth) {
    throw std::invalid_argument(fmt::format("Invalid width of a ResNet: {}, expected 1 to {}",
                                            width, plugin::ResNetShape::kMostWidth));
  }
  auto stage_width = static_cast<std::int64_t>(width);
  std::int64_t channels = stage_width;
  stem_ = add_layer("conv1", "bn1", 3, channels, 3, 1);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (std::size_t block = 0; block < stages[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      blocks_.push_back(
          add_block(fmt::format("layer{}.{}", stage + 1, block), channels, stage_width, stride));
    }
    stage_width *= 2;
  }
  const auto outputs = static_cast<std::int64_t>(classes);
  linear_ = add(Parameter::Kind::linear, "fc.weight", {outputs, channels});
  add(Parameter::Kind::linear, "fc.bias", {outputs});
  for (std::size_t i = linear_; i < parameters_.size(); ++i) {
    parameters_[i].inputs = static_cast<std::size_t>(channels);
  }
}

std::size_t ResNet::add(Parameter::Kind kind, std::string name, std::vector<std::int64_t> shape) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.kind = kind;
  parameter.shape = std::move(shape);
  parameter.offset = dimension();
  parameter.size = static_cast<std::size_t>(std::accumulate(
      parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>()));
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

ResNet::Layer ResNet::add_layer(const std::string& convolution, const std::string& normalisation,
                                std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                                std::int64_t stride) {
  Layer layer;
  layer.stride = stride;
  layer.padding = kernel / 2;
  layer.parameter =
      add(Parameter::Kind::convolution, convolution + ".weight", {outputs, inputs, kernel, kernel});
  add(Parameter::Kind::scale, normalisation + ".weight", {outputs});
  add(Parameter::Kind::shift, normalisation + ".bias", {outputs});
  layer.statistics = normalised_channels_.size();
  normalised_channels_.push_back(outputs);
  return layer;
}

/// A basic block (3 x 3, 3 x 3), or in deep nets a bottleneck (1 x 1, 3 x 3, 1 x 1 to four times
/// the width), whose stride is that of its 3 x 3. `channels` becomes what comes out of it.
ResNet::Block ResNet::add_block(const std::string& name, std::int64_t& channels, std::int64_t width,
                                std::int64_t stride) {
  Block block;
  const auto layer = [&](std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                         std::int64_t step) {
    const std::size_t number = block.layers.size() + 1;
    block.layers.push_back(add_layer(fmt::format("{}.conv{}", name, number),
                                     fmt::format("{}.bn{}", name, number), inputs, outputs, kernel,
                                     step));
  };
  std::int64_t outputs = width;
  if (depth_ < 50) {
    layer(channels, width, 3, stride);
    layer(width, width, 3, 1);
  } else {
    outputs = 4 * width;
    layer(channels, width, 1, 1);
    layer(width, width, 3, stride);
    layer(width, outputs, 1, 1);
  }
  if (stride != 1 || channels != outputs) {
    block.shortcut =
        add_layer(name + ".downsample.0", name + ".downsample.1", channels, outputs, 1, stride);
  }
  channels = outputs;
  return block;
}

std::size_t ResNet::dimension() const {
  return parameters_.empty() ? 0 : parameters_.back().offset + parameters_.back().size;
}

// ---- Weights ------------------------------------------------------------------------------------

void ResNet::start(std::uint64_t seed, std::span<float> weights) const {
  if (weights.size() != dimension()) {
    throw std::invalid_argument(fmt::format("Invalid weights of ResNet-{}: {} values, expected {}",
                                            depth_, weights.size(), dimension()));
  }
  at::parallel_for(0, static_cast<std::int64_t>(parameters_.size()), 1,
                   [&](std::int64_t first, std::int64_t last) {
                     for (auto i = static_cast<std::size_t>(first);
                          i < static_cast<std::size_t>(last); ++i) {
                       const Parameter& parameter = parameters_[i];
                       start_parameter(parameter, Random(seed, kStartStream + i),
                                       weights.subspan(parameter.offset, parameter.size));
                     }
                   });
}

RunningStatistics ResNet::fresh_statistics() const {
  RunningStatistics statistics;
  for (const std::int64_t channels : normalised_channels_) {
    statistics.means.push_back(at::zeros({channels}, at::kFloat));
    statistics.variances.push_back(at::ones({channels}, at::kFloat));
  }
  return statistics;
}

std::vector<at::Tensor> ResNet::tensors(float* weights) const {
  std::vector<at::Tensor> tensors;
  tensors.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    tensors.push_back(at::from_blob(weights + parameter.offset, parameter.shape,
                                    strides_of(parameter), at::kFloat));
  }
  return tensors;
}

// ---- Forward ------------------------------------------------------------------------------------

struct ResNet::Pass {
  std::span<const at::Tensor> parameters;
  const RunningStatistics& statistics;
  bool training;
  double momentum;

  at::Tensor operator()(const Layer& layer, const at::Tensor& inputs) const {
    const at::Tensor sums =
        at::conv2d(inputs, parameters[layer.parameter], {}, layer.stride, layer.padding);
    const bool remembers = !statistics.means.empty();
    return at::batch_norm(sums, parameters[layer.parameter + 1], parameters[layer.parameter + 2],
                          remembers ? statistics.means[layer.statistics] : at::Tensor(),
                          remembers ? statistics.variances[layer.statistics] : at::Tensor(),
                          training, momentum, kEpsilon, /*cudnn_enabled=*/false);
  }
};

at::Tensor ResNet::forward(const at::Tensor& images, std::span<const at::Tensor> parameters,
                           const RunningStatistics& statistics, Mode mode, double momentum) const {
  const Pass pass{parameters, statistics, mode == Mode::training, momentum};
  at::Tensor values = pass(stem_, images).relu_();
  for (const Block& block : blocks_) {
    at::Tensor inside = values;
    for (std::size_t i = 0; i < block.layers.size(); ++i) {
      inside = pass(block.layers[i], inside);
      if (i + 1 < block.layers.size()) inside.relu_();
    }
    values = inside.add_(block.shortcut ? pass(*block.shortcut, values) : values).relu_();
  }
  return at::linear(values.mean({2, 3}), parameters[linear_], parameters[linear_ + 1]);
}

}  // namespace tandem::deep
