// SPDX-License-Identifier: MIT
// The options of a rule with their values, by name: set from text or from a struct's fields, checked
// against the declaration, read by the rule's stages.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "optimizers/declaration.h"

namespace tandem::rules {

class Values {
 public:
  /// All defaults. The declaration outlives it.
  explicit Values(const Declaration& rule);

  /// By name; `weight-decay` is read as `weight_decay`. Throws std::invalid_argument that names the
  /// rule, an unknown option with the nearest known one, or a text that cannot be read.
  void set_text(const std::string& name, const std::string& text);
  void set(std::string_view name, Value value);
  template <class Enum>
  requires std::is_enum_v<Enum>
  void set(std::string_view name, Enum value) {
    set(name, Value(Choice{static_cast<std::size_t>(value)}));
  }

  /// Throws std::invalid_argument for a value out of its option's range.
  void check() const;

  const Declaration& rule() const { return rule_; }
  bool has(std::string_view name) const { return rule_.find(name) != nullptr; }
  const Value& get(std::string_view name) const;
  const Schedule& rate(std::string_view name) const { return std::get<Schedule>(get(name)); }
  double number(std::string_view name) const { return std::get<double>(get(name)); }
  bool flag(std::string_view name) const { return std::get<bool>(get(name)); }
  std::size_t count(std::string_view name) const { return std::get<std::size_t>(get(name)); }
  const Projection& projection(std::string_view name) const {
    return std::get<Projection>(get(name));
  }
  const std::vector<double>& list(std::string_view name) const {
    return std::get<std::vector<double>>(get(name));
  }
  template <class Enum>
  Enum choice(std::string_view name) const {
    return static_cast<Enum>(std::get<Choice>(get(name)).index);
  }

 private:
  const Declaration& rule_;
  std::vector<Value> values_;  // as rule_.all_options()
};

/// schedule, number, count, flag, projection, values, or the choices: "ema|torch".
std::string type_text(const Option& option);
/// A value as text that reads back as the same; empty for starting values.
std::string value_text(const Option& option, const Value& value);

/// The rule with these options as the engine takes it; checks them.
detail::Recipe make_recipe(const Values& options, const std::vector<SegmentSpec>& segments);

}  // namespace tandem::rules
