// SPDX-License-Identifier: MIT
// What a unit of work costs in the run store, against the number of units and of workers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/row.h"

namespace tandem::bench {

struct StoreOptions {
  std::string location = {};  // empty: a file in a temporary folder
  std::vector<std::size_t> units = {100, 1'000, 10'000, 100'000};
  std::vector<std::size_t> workers = {2, 4};  // compared with one
  std::size_t points = 20;                    // of the one member of a unit
};

/// Adds studies to the store and removes them again. Throws store::StoreError.
void run_store_bench(const StoreOptions& options, const Report& report);

}  // namespace tandem::bench
