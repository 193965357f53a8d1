// SPDX-License-Identifier: MIT
// Optimizers by name, with options as text: what command lines, study files and bindings use.
#pragma once

#include <tandem/optimizer.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Option names and their values as text. Names are the fields of the options structs;
/// `weight-decay` is read as `weight_decay`.
using OptionMap = std::map<std::string, std::string>;

/// Makes an optimizer from its name ("ro-to"). Throws std::invalid_argument that names an unknown
/// optimizer or option with the nearest known one, or a value that cannot be read.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, std::size_t dimension,
                                          const OptionMap& options = {});
std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          const std::vector<SegmentSpec>& segments,
                                          const OptionMap& options = {});

struct OptionInfo {
  std::string name;
  std::string type;  ///< schedule, number, count, flag, projection, or the choices: "ema|torch"
  std::string default_value;
  std::string range;  ///< of numbers: ">= 0, < 1"
  std::string help;   ///< one sentence
};

/// What a rule remembers from step to step.
struct StateInfo {
  std::string name;
  std::string shape;  ///< like_weights, scalar, other
  std::string help;
};

/// The range in which an option should be tuned: `points` values from low to high, even in the
/// logarithm, and 0 where that is worth a try.
struct TuningInfo {
  std::string option;
  double low = 0;
  double high = 0;
  std::size_t points = 2;
  bool zero_too = false;
};

struct OptimizerInfo {
  std::string name;
  std::string class_name;
  std::string summary;
  std::string rule;
  std::string state;  ///< bytes of state for float weights, as a formula in the dimension d
  std::string reference;
  bool trainable = false;
  std::vector<OptionInfo> options = {};
  std::vector<StateInfo> arrays = {};
  std::vector<TuningInfo> tuning = {};
};

/// All optimizers, in the order in which tables show them.
const std::vector<OptimizerInfo>& optimizer_infos();

/// All that the library knows of an optimizer, as JSON: what `tandem optimizers NAME --json` prints.
/// Throws as make_optimizer does.
std::string optimizer_json(std::string_view name);

}  // namespace tandem
