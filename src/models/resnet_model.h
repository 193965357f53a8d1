// SPDX-License-Identifier: MIT
// Names of ResNets: "resnet18", "resnet50:width=8".
#pragma once

#include <string>

#include "plugin/plugin.h"

namespace tandem::models {

/// Whether the kind of a model (model_kind) is that of a ResNet.
bool is_resnet(const std::string& kind);

/// "resnet18" or "resnet50", and behind it perhaps ":width=N" with N from 1 to 256, the channels of
/// the first convolution; 64 without it. Throws std::invalid_argument.
plugin::ResNetShape parse_resnet(const std::string& model);

}  // namespace tandem::models
