// SPDX-License-Identifier: MIT
// What is done with the options of a rule, field by field: check them, set one from text, list
// them. See rules.h.
#pragma once

#include <tandem/options.h>
#include <tandem/registry.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "optimizers/check.h"

namespace tandem::rules {

class CheckFields {
 public:
  explicit CheckFields(std::string rule) : rule_(std::move(rule)) {}

  void operator()(const char* name, const Schedule& rate) { check_rate(rule_, name, rate); }
  void operator()(const char* name, double value, Range range) {
    check_range(rule_, name, value, range);
  }
  void operator()(const char* name, std::size_t value);
  template <class Other>
  void operator()(const char*, const Other&) {}  // valid by construction

 private:
  std::string rule_;
};

/// Sets the field called `name` from `text`.
class SetField {
 public:
  SetField(std::string rule, std::string name, std::string text)
      : rule_(std::move(rule)), name_(std::move(name)), text_(std::move(text)) {}

  template <class Field>
  void operator()(const char* name, Field& field, Range = {}) {
    known_.emplace_back(name);
    if (name == name_) {
      read(field);
      found_ = true;
    }
  }
  /// Throws where no field had the name.
  void finish() const;

 private:
  void read(Schedule& field);
  void read(double& field);
  void read(bool& field);
  void read(std::size_t& field);
  void read(Projection& field);
  void read(OnNonFinite& field);
  void read(Form& field);
  void read(MomentumForm& field);
  [[noreturn]] void fail(const std::string& expected) const;
  std::size_t choice(const std::vector<std::string>& choices) const;

  std::string rule_;
  std::string name_;
  std::string text_;
  std::vector<std::string> known_;
  bool found_ = false;
};

class ListFields {
 public:
  template <class Field>
  void operator()(const char* name, const Field& field, Range = {}) {
    OptionInfo info = describe(field);
    info.name = name;
    infos_.push_back(std::move(info));
  }
  std::vector<OptionInfo> take() { return std::move(infos_); }

 private:
  static OptionInfo describe(const Schedule& field);
  static OptionInfo describe(double field);
  static OptionInfo describe(bool field);
  static OptionInfo describe(std::size_t field);
  static OptionInfo describe(const Projection& field);
  static OptionInfo describe(OnNonFinite field);
  static OptionInfo describe(Form field);
  static OptionInfo describe(MomentumForm field);

  std::vector<OptionInfo> infos_;
};

}  // namespace tandem::rules
