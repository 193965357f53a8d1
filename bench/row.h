// SPDX-License-Identifier: MIT
// What benchmarks report: one measurement and what it is compared with.
#pragma once

#include <functional>
#include <string>

namespace tandem::bench {

struct Row {
  std::string part;  // a group of measurements
  std::string name;
  std::string unit;  // of value and reference
  double value = 0;
  double reference = 0;
  std::string against;  // what the reference is
  double ratio = 0;
  std::string target = {};  // what the ratio should be, or ""
  bool met = true;
};

/// Where rows go as soon as they are measured, and what is said beside the table.
struct Report {
  std::function<void(const Row&)> row;
  std::function<void(const std::string&)> note;
};

}  // namespace tandem::bench
