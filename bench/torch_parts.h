// SPDX-License-Identifier: MIT
// The parts of `tandem bench torch`.
#pragma once

#include <tandem/executor.h>

#include <functional>
#include <memory>

#include "bench/torch.h"

namespace tandem::bench {

struct TorchContext {
  const plugin::TorchBench& torch;
  const TorchOptions& options;
  std::shared_ptr<Executor> executor;
  const Report& report;
  std::function<void(int)> set_threads;  // of LibTorch and of the BLAS behind it
};

/// One step of each optimizer: of a large model, with the bytes that it moves, and of a small one.
void torch_steps(const TorchContext& context);

/// Softmax regression on MNIST and NSL-KDD.
void torch_softmax(const TorchContext& context);

}  // namespace tandem::bench
