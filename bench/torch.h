// SPDX-License-Identifier: MIT
// `tandem bench torch`: our optimizers in LibTorch against its own, and a population against the
// loop that a user of LibTorch would write. LibTorch itself is behind the plug-in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "bench/row.h"
#include "plugin/plugin.h"

namespace tandem::bench {

struct TorchOptions {
  std::size_t parameters = 25'000'000;  // of the large model
  std::size_t tensors = 60;
  std::size_t small_tensors = 10;  // of the small model, each with
  std::size_t small = 1'000;       // so many weights
  std::size_t small_steps = 200;   // a measurement
  std::size_t many_tensors = 200;  // of as many weights, whose rates move
  std::size_t members = 256;       // of the population
  std::size_t steps = 200;         // of training, a measurement
  int threads = 0;                 // 0: all
  int rounds = 7;
  std::vector<std::filesystem::path> data_folders;  // where real data may be
};

void run_torch_bench(const plugin::Plugin& plugin, const TorchOptions& options,
                     const Report& report);

}  // namespace tandem::bench
