// SPDX-License-Identifier: MIT
// One record an optimizer: what it is made with, what it must equal, which inputs it must refuse.
// The battery (battery_*_test.cc) runs over all of them; a new optimizer is tested by adding one.
#pragma once

#include <tandem/tandem.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/reference.h"

namespace tandem::testing {

/// The rates that a set's schedules stand for, written out again without Schedule.
using RatesAt = std::function<reference::Rates(double step, double epoch)>;
using MakeReference = std::function<reference::RulePointer(std::size_t dimension)>;
using MakeOptimizer =
    std::function<std::unique_ptr<Optimizer>(const std::vector<SegmentSpec>& segments)>;

/// One way to set an optimizer up, with the reference that it must equal.
struct OptionSet {
  std::string label;
  OptionMap options = {};
  RatesAt rates = {};
  MakeReference reference = {};
  MakeOptimizer make = {};   // for what has no text form (starting values); empty: by name
  bool any_segments = true;  // false where rates or decay that differ by segment are refused
  bool check_diagnostics = true;
};

/// Options that must be refused with std::invalid_argument, and what the message must name.
struct ErrorInput {
  OptionMap options;
  std::vector<std::string> fragments;
};

/// Rates with which the optimizer reaches an optimum: loss - optimum_loss < gap after `steps`.
struct Tuned {
  OptionMap options = {};
  int steps = 0;
  double gap = 0;
};

struct Record {
  std::string name;
  bool trainable = false;
  std::vector<OptionSet> sets = {};
  std::vector<ErrorInput> errors = {};
  std::function<std::size_t(std::size_t dimension)> state_bytes = {};  // float weights
  OptionMap state_bytes_options = {};                                  // with these
  // |w_1| and |w*|; 0: their coordinates are of size 1. Where delta is alpha |w|^2, fixed rates
  // suit all dimensions only if |w| does not grow with them.
  double norm = 0;
  // Largest allowed |w - reference| over |reference|, in the largest coordinate. Rounding weights
  // and gradients to float and nothing else costs about 1e-6 over 300 steps; measured on one span
  // of up to 4099 weights (full-to and block-to: 1000) were at most 2.0e-6 with float weights and
  // 2.4e-15 with double ones.
  double float_tolerance = 5e-6;
  double double_tolerance = 1e-12;
  std::size_t largest = 20000;  // dimension up to which the reference can afford 300 steps
  Tuned quadratic = {};
  Tuned rosenbrock = {};
  Tuned logistic = {};
};

const std::vector<Record>& records();
const Record& record(const std::string& name);

/// Those that rules' own files make, in NAME_record(): all_records.cc lists them.
std::vector<Record> all_records();

/// An optimizer as the set says, in one segment or several.
std::unique_ptr<Optimizer> make(const Record& record, const OptionSet& set,
                                const std::vector<SegmentSpec>& segments);
std::unique_ptr<Optimizer> make(const Record& record, const OptionSet& set, std::size_t dimension);

/// Names of all records, and as gtest wants them: without '-'.
std::vector<std::string> record_names();
std::string test_name(const std::string& text);

}  // namespace tandem::testing
