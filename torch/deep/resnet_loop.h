// SPDX-License-Identifier: MIT
// The peer of `tandem train --model resnet18`: the same net and images in a loop as a user of
// LibTorch writes it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "plugin/plugin.h"

namespace tandem::deep {

/// Forward, backward and a step of the optimizer, batch after batch of the training images in their
/// order, and again from the beginning. The optimizer is "torch::optim::SGD" (with momentum),
/// "torch::optim::Adam", "tandem::optim::DiagonalTO", or "none" for forward and backward alone.
/// Throws std::invalid_argument for others. The task outlives the loop, whose weights() are as the
/// segments of make_resnet.
std::unique_ptr<plugin::Loop> make_resnet_loop(const plugin::ResNetShape& shape,
                                               const data::Task& task, std::size_t batch,
                                               const std::string& optimizer);

}  // namespace tandem::deep
