// SPDX-License-Identifier: MIT
// `tandem bench step`: how near to the machine's limit a step of each rule is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tandem::bench {

struct StepOptions {
  std::size_t parameters = 25'000'000;  // of the elementwise rules
  std::size_t dense = 10'250;    // dimension of Full-TO's dense form: MNIST's logistic regression
  std::size_t span = 1'000'000;  // dimension of its span form
  std::size_t span_steps = 500;
  std::size_t small = 1'000;
  int threads = 0;  // 0: all
  int rounds = 7;
};

/// One measurement and what it is compared with.
struct Row {
  std::string part;  // elementwise, full-dense, full-span, small
  std::string name;
  std::string unit;  // of value and reference
  double value = 0;
  double reference = 0;
  std::string against;  // what the reference is
  double ratio = 0;
  std::string target = {};  // what the ratio should be, or ""
  bool met = true;
};

/// Calls `report` as soon as a row is measured, and `note` for what is said beside the table.
void run_step_bench(const StepOptions& options, const std::function<void(const Row&)>& report,
                    const std::function<void(const std::string&)>& note);

}  // namespace tandem::bench
