// SPDX-License-Identifier: MIT
// The nets by themselves: their parameters, their start, and their outputs against the same net
// written out with torchvision's names.
#include "deep/resnet.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem::deep {
namespace {

TEST(ResNet, HasAsManyWeightsAsPublished) {
  EXPECT_EQ(ResNet(18, 10).dimension(), 11173962U);
  EXPECT_EQ(ResNet(50, 10).dimension(), 23520842U);
  EXPECT_EQ(ResNet(18, 100).dimension(), 11173962U + 90 * 513);
  EXPECT_EQ(ResNet(18, 10).parameters().size(), 62U);
  EXPECT_EQ(ResNet(50, 10).parameters().size(), 161U);
  EXPECT_EQ(ResNet(18, 10, 8).parameters().size(), 62U);
  EXPECT_EQ(ResNet(18, 10, 8).dimension(), 176402U);
}

TEST(ResNet, ParametersFollowEachOther) {
  const ResNet net(50, 10);
  std::size_t offset = 0;
  for (const Parameter& parameter : net.parameters()) {
    EXPECT_EQ(parameter.offset, offset) << parameter.name;
    offset += parameter.size;
  }
  EXPECT_EQ(offset, net.dimension());
}

TEST(ResNet, RefusesOtherDepthsClassesAndWidths) {
  EXPECT_THROW(ResNet(34, 10), std::invalid_argument);
  EXPECT_THROW(ResNet(18, 1), std::invalid_argument);
  EXPECT_THROW(ResNet(18, 10, 0), std::invalid_argument);
  EXPECT_THROW(ResNet(18, 10, 257), std::invalid_argument);
  std::vector<float> few(5);
  EXPECT_THROW(ResNet(18, 10).start(1, few), std::invalid_argument);
}

TEST(ResNet, StartIsScaledToTheLayers) {
  const ResNet net(18, 10);
  std::vector<float> weights(net.dimension());
  net.start(3, weights);
  for (const Parameter& parameter : net.parameters()) {
    const auto values = std::span(weights).subspan(parameter.offset, parameter.size);
    double sum = 0;
    double squares = 0;
    double largest = 0;
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    const auto count = static_cast<double>(values.size());
    switch (parameter.kind) {
      case Parameter::Kind::convolution: {
        const auto fan_out =
            static_cast<double>(parameter.shape[0] * parameter.shape[2] * parameter.shape[3]);
        const double deviation = std::sqrt(2 / fan_out);
        EXPECT_NEAR(squares / count / (deviation * deviation), 1, 6 * std::sqrt(2 / count))
            << parameter.name;
        EXPECT_NEAR(sum / count / deviation, 0, 5 / std::sqrt(count)) << parameter.name;
        break;
      }
      case Parameter::Kind::scale:
        EXPECT_EQ(sum, count) << parameter.name;
        EXPECT_EQ(squares, count) << parameter.name;
        break;
      case Parameter::Kind::shift:
        EXPECT_EQ(squares, 0) << parameter.name;
        break;
      case Parameter::Kind::linear:
        EXPECT_LE(largest, 1 / std::sqrt(512.0)) << parameter.name;
        EXPECT_GT(largest, 0.5 / std::sqrt(512.0)) << parameter.name;
        break;
    }
  }
}

TEST(ResNet, StartDependsOnTheSeedAlone) {
  const ResNet net(18, 10, 16);
  std::vector<float> one(net.dimension());
  std::vector<float> again(net.dimension());
  std::vector<float> other(net.dimension());
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  net.start(1, one);
  at::set_num_threads(2);
  net.start(1, again);
  net.start(2, other);
  at::set_num_threads(threads);
  EXPECT_EQ(one, again);
  EXPECT_NE(one, other);
}

TEST(ResNet, ConvolutionsAreChannelsLastInTheirSegment) {
  const ResNet net(18, 10);
  std::vector<float> weights(net.dimension());
  std::iota(weights.begin(), weights.begin() + 64 * 27, 0.0F);
  const std::vector<at::Tensor> tensors = net.tensors(weights.data());
  EXPECT_EQ(tensors[0].data_ptr(), weights.data());
  EXPECT_TRUE(tensors[0].is_contiguous(at::MemoryFormat::ChannelsLast));
  // Output 2, input 1, row 0, column 2.
  EXPECT_EQ(tensors[0][2][1][0][2].item<float>(), 2 * 27 + 0 * 9 + 2 * 3 + 1);
}

/// The net as papers draw it, in plain memory order.
class Drawn {
 public:
  Drawn(const ResNet& net, std::vector<float>& weights) {
    const std::vector<at::Tensor> tensors = net.tensors(weights.data());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors_[net.parameters()[i].name] = tensors[i].contiguous();
    }
  }

  at::Tensor operator()(const at::Tensor& images, const std::vector<int>& blocks, bool bottleneck) {
    at::Tensor x = layer("conv1", "bn1", images, 1).relu();
    for (std::size_t stage = 1; stage <= 4; ++stage) {
      for (int block = 0; block < blocks[stage - 1]; ++block) {
        const std::string name =
            "layer" + std::to_string(stage) + "." + std::to_string(block) + ".";
        const std::int64_t stride = stage > 1 && block == 0 ? 2 : 1;
        const auto part = [&](int number, const at::Tensor& inputs, std::int64_t step) {
          return layer(name + "conv" + std::to_string(number), name + "bn" + std::to_string(number),
                       inputs, step);
        };
        at::Tensor y = bottleneck ? part(3, part(2, part(1, x, 1).relu(), stride).relu(), 1)
                                  : part(2, part(1, x, stride).relu(), 1);
        if (block == 0 && (stage > 1 || bottleneck)) {
          x = layer(name + "downsample.0", name + "downsample.1", x, stride);
        }
        x = x.add(y).relu();
      }
    }
    EXPECT_EQ(x.size(2), 4);
    EXPECT_EQ(x.size(1), bottleneck ? 512 : 128);
    return at::linear(x.mean({2, 3}), tensors_.at("fc.weight"), tensors_.at("fc.bias"));
  }

 private:
  at::Tensor layer(const std::string& convolution, const std::string& normalisation,
                   const at::Tensor& inputs, std::int64_t stride) {
    const at::Tensor& kernel = tensors_.at(convolution + ".weight");
    const at::Tensor sums = at::conv2d(inputs, kernel, {}, stride, kernel.size(2) == 3 ? 1 : 0);
    return at::batch_norm(sums, tensors_.at(normalisation + ".weight"),
                          tensors_.at(normalisation + ".bias"), {}, {}, true, 0.1, 1e-5, false);
  }

  std::map<std::string, at::Tensor> tensors_;
};

void expect_as_drawn(int depth, const std::vector<int>& blocks, bool bottleneck) {
  const at::NoGradGuard plain;
  const ResNet net(depth, 10, 16);
  std::vector<float> weights(net.dimension());
  net.start(5, weights);
  // Scales and shifts that would show if they were mixed up.
  for (const Parameter& parameter : net.parameters()) {
    if (parameter.shape.size() != 1) continue;
    for (std::size_t i = 0; i < parameter.size; ++i) {
      weights[parameter.offset + i] += 0.1F * static_cast<float>(i % 5);
    }
  }
  const at::Tensor images = at::rand({2, 3, 32, 32});
  const RunningStatistics statistics = net.fresh_statistics();
  const at::Tensor logits =
      net.forward(images.contiguous(at::MemoryFormat::ChannelsLast), net.tensors(weights.data()),
                  statistics, ResNet::Mode::training);
  const at::Tensor drawn = Drawn(net, weights)(images, blocks, bottleneck);
  ASSERT_EQ(logits.sizes(), drawn.sizes());
  EXPECT_LT(logits.sub(drawn).abs().max().item<double>(), 1e-3 * drawn.abs().max().item<double>());
  for (const at::Tensor& mean : statistics.means) EXPECT_GT(mean.abs().max().item<double>(), 0);
}

TEST(ResNet, EighteenIsAsDrawn) { expect_as_drawn(18, {2, 2, 2, 2}, false); }
TEST(ResNet, FiftyIsAsDrawn) { expect_as_drawn(50, {3, 4, 6, 3}, true); }

}  // namespace
}  // namespace tandem::deep
