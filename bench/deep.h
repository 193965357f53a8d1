// SPDX-License-Identifier: MIT
// `tandem bench deep`: training steps of deep models, against the same model in a bare loop of
// LibTorch, and of a part of a Llama against all of it.
#pragma once

#include <cstddef>
#include <string>

#include "bench/row.h"
#include "plugin/plugin.h"

namespace tandem::bench {

struct DeepOptions {
  std::string resnet = "resnet18";
  std::size_t batch = 64;
  std::size_t steps = 2;        // a measurement
  std::size_t llama_dim = 288;  // of a Llama of 15 million weights
  std::size_t llama_layers = 6;
  std::size_t llama_vocabulary = 32000;
  std::size_t llama_samples = 4;   // a batch,
  std::size_t llama_tokens = 256;  // each of so many
  int rounds = 3;
};

void run_deep_bench(const plugin::Plugin& plugin, const DeepOptions& options, const Report& report);

}  // namespace tandem::bench
