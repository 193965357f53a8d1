// SPDX-License-Identifier: MIT
// LibTorch's side of `tandem bench torch`.
#pragma once

#include "plugin/plugin.h"

namespace tandem {

plugin::TorchBench torch_bench();

}  // namespace tandem
