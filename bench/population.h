// SPDX-License-Identifier: MIT
// `tandem bench population`: what training many settings at once costs, on generated data of the
// shapes of MNIST, NSL-KDD and 20 Newsgroups.
#pragma once

#include <cstddef>

#include "bench/row.h"

namespace tandem::bench {

struct PopulationOptions {
  std::size_t members = 256;         // of the MNIST shape
  std::size_t small_members = 1000;  // of the NSL-KDD shape
  std::size_t steps = 60;
  int threads = 0;
  int rounds = 5;
};

void run_population_bench(const PopulationOptions& options, const Report& report);

}  // namespace tandem::bench
