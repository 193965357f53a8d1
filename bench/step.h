// SPDX-License-Identifier: MIT
// `tandem bench step`: how near to the machine's limit a step of each rule is.
#pragma once

#include <cstddef>

#include "bench/row.h"

namespace tandem::bench {

struct StepOptions {
  std::size_t parameters = 25'000'000;  // of the elementwise rules
  std::size_t decayed = 2'000'000;      // of those whose state has decayed
  std::size_t dense = 10'250;    // dimension of Full-TO's dense form: MNIST's logistic regression
  std::size_t span = 1'000'000;  // dimension of its span form
  std::size_t span_steps = 500;
  std::size_t small = 1'000;
  int threads = 0;  // 0: all
  int rounds = 7;
};

void run_step_bench(const StepOptions& options, const Report& report);

}  // namespace tandem::bench
