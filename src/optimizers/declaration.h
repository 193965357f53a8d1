// SPDX-License-Identifier: MIT
// All that the project says about an optimizer, in one value. A rule is declared in a file of its own
// in src/optimizers/rules; text options and their checks work from the declaration at run time, and
// `make generate` writes from it what repeats it elsewhere: option structs and classes, those of
// LibTorch and Python, tables in the docs.
#pragma once

#include <tandem/options.h>
#include <tandem/projection.h>
#include <tandem/schedule.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "optimizers/check.h"
#include "optimizers/recipe.h"

namespace tandem::rules {

// ---- Options ---------------------------------------------------------------------------------------

/// A place in the list of an option's choices, which is also the value of its enum.
struct Choice {
  std::size_t index = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// What an option can hold: a rate, a number, a flag, a count, a choice, a projection, or starting
/// values (a list of numbers, which has no text form).
using Value =
    std::variant<Schedule, double, bool, std::size_t, Choice, Projection, std::vector<double>>;

struct Option {
  std::string name;
  Value default_value;
  std::string help;                       // one sentence
  Range range = Range::non_negative;      // of a number; a count >= 1 unless non_negative
  std::string enumeration = {};           // of a choice: the enum in <tandem/options.h>
  std::vector<std::string> choices = {};  // its values as text
  /// What LibTorch and PyTorch call it: "" the same, "betas[0]" the first of a pair, "-" they do not
  /// have it.
  std::string torch = {};

  Option in_torch(std::string torch_name) &&;
  Option not_in_torch() && { return std::move(*this).in_torch("-"); }
};

Option rate(std::string name, double value, std::string help);
Option number(std::string name, double value, Range range, std::string help);
Option flag(std::string name, bool value, std::string help);
Option count(std::string name, std::size_t value, Range range, std::string help);
Option starting_values(std::string name, std::string help);

/// Names of the values of the enums that options have.
const std::vector<std::string>& choices_of(std::string_view enumeration);
Option choice(std::string name, std::string enumeration, std::size_t value, std::string help);

/// Values of a rule's options by name; those that were not set are the defaults.
class Values;

// ---- State -----------------------------------------------------------------------------------------

/// What a rule remembers from step to step.
struct StateArray {
  enum class Shape {
    like_weights,  // an element for each weight
    scalar,        // one number
    other          // as `size` says
  };
  std::string name;
  Shape shape = Shape::like_weights;
  std::string help;        // one sentence
  std::string torch = {};  // the key of torch's own optimizer, where it has the rule
  double initial = 0;      // of a scalar
  std::string size = {};   // of other shapes, in the dimension d: "d^2"
};

// ---- Stages ----------------------------------------------------------------------------------------

struct Stages {
  detail::EstimatorSpec estimator = detail::IdentitySpec{};
  detail::ScalingSpec scaling = {};
};

// ---- Tuning ----------------------------------------------------------------------------------------

/// Where an option should be looked for: default grids and benchmark suites take their settings from
/// these.
struct Tuning {
  std::string option;
  double low = 0;
  double high = 0;
  std::size_t points = 2;  // of a grid
  bool zero_too = false;   // 0 is worth a try as well (alpha: momentum)
  // Of lr on a convex task whose scale is known: multiples of 1 / curvature, or, of rules that scale
  // their steps, of 1 / (mean sum of |x_i|).
  double least_multiple = 0;
  double most_multiple = 0;
};

// ---- The declaration -------------------------------------------------------------------------------

struct Declaration {
  int order = 0;     // of tables: the paper's forms from 0, this project's from 10, others by year
  std::string name;  // "diag-to"
  std::string class_name;       // "DiagonalTO"
  std::string summary;          // one sentence: "Diag-TO: A is a diagonal."
  std::string rule;             // the update rule
  std::string reference;        // who published it
  std::string state_bytes;      // with float weights, as a formula in the dimension d
  std::vector<Option> options;  // without the common ones
  std::vector<StateArray> state = {};
  Stages (*stages)(const Values& options) = nullptr;
  std::vector<Tuning> tuning;

  /// How many weights share a part of A: what alpha is divided by in default grids. "1", "block", "d";
  /// empty for rules that do not learn.
  std::string weights_per_estimate = {};
  /// Whether torch's weight_decay is decoupled (w *= 1 - lr weight_decay) or added to the gradient.
  bool torch_decouples = true;
  /// Arguments of the Python class that may be given by place, behind params.
  std::vector<std::string> torch_positional = {};
  /// What torch calls its own, and what of it is not here: "torch.optim.Adam, without amsgrad".
  std::string torch_counterpart = {};
  double weight_decay = 0;          // the default
  bool narrow_state = true;         // state can be kept in bfloat16
  bool hand_written_class = false;  // the C++ class has members of its own: <tandem/full_to.h>

  bool trainable() const { return !weights_per_estimate.empty(); }
  /// Its own options and the common ones.
  const std::vector<Option>& all_options() const;
  const Option* find(std::string_view option) const;

  // Filled in by declarations().
  std::vector<Option> complete = {};
};

/// All rules, in the order in which tables show them.
const std::vector<Declaration>& declarations();
const Declaration* find_declaration(std::string_view name);
/// The same; throws std::invalid_argument that names the nearest known one.
const Declaration& known_declaration(std::string_view name);

}  // namespace tandem::rules
