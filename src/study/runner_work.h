// SPDX-License-Identifier: MIT
// What Runner::run() knows while it works; inside the runner only.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "study/runner.h"

namespace tandem::study {

// A dead process of this machine is noticed at once, one of another machine after this time.
inline constexpr int kLeaseSeconds = 600;

/// Seconds of a clock that only goes forward.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Runner::Work {
  store::Store& store;
  const std::function<bool(const Status&)>& progress;
  std::string owner = store::this_owner();
  double began = now();
  double renewed = now();
  double told = 0;
  double told_store = 0;
  double part_at_first = -1;  // what was done when this process began
  store::Study study = {};
  std::vector<store::Task> tasks = {};
  std::set<std::pair<std::size_t, std::size_t>> measured = {};  // task, optimizer: nothing to add
  double all_work = 0;
  double work_done = 0;
  Status status = {};
  std::map<std::pair<std::size_t, std::size_t>, double> best = {};  // task, optimizer; 0: none yet
};

/// What one population of a unit is, and which part of the unit.
struct Runner::Part {
  const store::Unit& unit;
  std::size_t task = 0;
  std::size_t optimizer = 0;
  std::vector<train::Setting> settings = {};
  std::uint64_t seed = 0;
  double begin = 0;
  double share = 1;
};

}  // namespace tandem::study
