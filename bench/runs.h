// SPDX-License-Identifier: MIT
// What a report of many runs costs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/row.h"

namespace tandem::bench {

struct RunsOptions {
  std::string location = {};  // empty: a file in a temporary folder
  std::vector<std::size_t> runs = {1'000, 10'000, 100'000};
  std::size_t points = 100;  // of each
  bool keep = false;         // leaves the studies where they are
};

/// Adds studies to the store and removes them again. Throws store::StoreError.
void run_runs_bench(const RunsOptions& options, const Report& report);

}  // namespace tandem::bench
