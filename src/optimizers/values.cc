// SPDX-License-Identifier: MIT
#include "optimizers/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "base/suggest.h"
#include "optimizers/text.h"

namespace tandem::rules {
namespace {

/// Reads the text of one option.
class Reader {
 public:
  Reader(const std::string& rule, const Option& option, const std::string& text)
      : rule_(rule), option_(option), text_(text) {}

  Value operator()(const Schedule&) const { return parsed<Schedule>(); }
  Value operator()(const Projection&) const { return parsed<Projection>(); }
  Value operator()(double) const {
    const auto value = read_number(text_);
    if (!value) fail("a number");
    return *value;
  }
  Value operator()(bool) const {
    for (const char* yes : {"true", "on", "yes", "1"}) {
      if (text_ == yes) return true;
    }
    for (const char* no : {"false", "off", "no", "0"}) {
      if (text_ == no) return false;
    }
    fail("true or false");
  }
  Value operator()(std::size_t) const {
    std::size_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto result = std::from_chars(text_.data(), end, value);
    if (result.ec != std::errc{} || result.ptr != end) fail("a count");
    return value;
  }
  Value operator()(const Choice&) const {
    const std::vector<std::string>& all = option_.choices;
    const auto at = std::find(all.begin(), all.end(), text_);
    if (at == all.end()) fail(fmt::format("one of {}", fmt::join(all, ", ")));
    return Choice{static_cast<std::size_t>(at - all.begin())};
  }
  Value operator()(const std::vector<double>&) const { fail("nothing: it has no text form"); }

 private:
  template <class T>
  Value parsed() const {
    try {
      return T::parse(text_);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("{}: Invalid {}: {}", rule_, option_.name, error.what()));
    }
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw std::invalid_argument(
        fmt::format("{}: Invalid {}: '{}', expected {}", rule_, option_.name, text_, expected));
  }

  const std::string& rule_;
  const Option& option_;
  const std::string& text_;
};

/// One for each alternative of Value.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // clang 14 does not find it by itself

}  // namespace

Values::Values(const Declaration& rule) : rule_(rule) {
  for (const Option& option : rule.all_options()) values_.push_back(option.default_value);
}

void Values::set_text(const std::string& name, const std::string& text) {
  std::string field = name;
  std::replace(field.begin(), field.end(), '-', '_');
  const Option* option = rule_.find(field);
  // Starting values have no text form: to texts they are unknown.
  const auto has_text = [](const Option& one) {
    return !std::holds_alternative<std::vector<double>>(one.default_value);
  };
  if (option == nullptr || !has_text(*option)) {
    std::vector<std::string> known;
    for (const Option& one : rule_.all_options()) {
      if (has_text(one)) known.push_back(one.name);
    }
    throw std::invalid_argument(
        fmt::format("{}: Unknown option '{}'{}", rule_.name, field, suggestion(field, known)));
  }
  set(field, std::visit(Reader(rule_.name, *option, text), option->default_value));
}

void Values::set(std::string_view name, Value value) {
  Value& field = const_cast<Value&>(get(name));
  if (field.index() != value.index()) {
    throw std::logic_error(fmt::format("{}: option {} is of another type", rule_.name, name));
  }
  field = std::move(value);
}

const Value& Values::get(std::string_view name) const {
  const Option* option = rule_.find(name);
  if (option == nullptr) {
    throw std::logic_error(fmt::format("{} has no option {}", rule_.name, name));
  }
  return values_[static_cast<std::size_t>(option - rule_.all_options().data())];
}

void Values::check() const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Option& option = rule_.all_options()[i];
    if (const auto* schedule = std::get_if<Schedule>(&values_[i])) {
      check_rate(rule_.name, option.name, *schedule);
    } else if (const auto* value = std::get_if<double>(&values_[i])) {
      check_range(rule_.name, option.name, *value, option.range);
    } else if (const auto* number = std::get_if<std::size_t>(&values_[i])) {
      if (*number == 0 && option.range == Range::positive) {
        throw std::invalid_argument(
            fmt::format("{}: Invalid {}: 0, expected a count >= 1", rule_.name, option.name));
      }
    }
  }
}

std::string type_text(const Option& option) {
  return std::visit(
      Overloaded{[](const Schedule&) { return std::string("schedule"); },
                 [](double) { return std::string("number"); },
                 [](bool) { return std::string("flag"); },
                 [](std::size_t) { return std::string("count"); },
                 [&](const Choice&) { return fmt::format("{}", fmt::join(option.choices, "|")); },
                 [](const Projection&) { return std::string("projection"); },
                 [](const std::vector<double>&) { return std::string("values"); }},
      option.default_value);
}

std::string value_text(const Option& option, const Value& value) {
  return std::visit(Overloaded{[](const Schedule& schedule) { return schedule.to_string(); },
                               [](double number) { return number_text(number); },
                               [](bool flag) { return std::string(flag ? "true" : "false"); },
                               [](std::size_t count) { return std::to_string(count); },
                               [&](const Choice& choice) { return option.choices[choice.index]; },
                               [](const Projection& projection) { return projection.to_string(); },
                               [](const std::vector<double>&) { return std::string(); }},
                    value);
}

detail::Recipe make_recipe(const Values& options, const std::vector<SegmentSpec>& segments) {
  options.check();
  const Declaration& rule = options.rule();
  Stages stages = rule.stages(options);
  std::vector<detail::CarriedScalar> carried;
  for (const StateArray& array : rule.state) {
    if (array.shape == StateArray::Shape::scalar) carried.push_back({array.name, array.initial});
  }
  detail::StateStorage storage;
  if (rule.narrow_state) {
    storage = {.type = options.choice<StateType>("state"),
               .rounding = options.choice<StateRounding>("state_rounding"),
               .seed = options.count("state_seed")};
  }
  return {.name = rule.name,
          .segments = segments,
          .estimator = std::move(stages.estimator),
          .scaling = stages.scaling,
          .carried = std::move(carried),
          .storage = storage,
          .lr = options.rate("lr"),
          .decay = options.number("decay"),
          .l2 = options.number("l2"),
          .weight_decay = options.number("weight_decay"),
          .projection = options.projection("projection"),
          .on_nonfinite = options.choice<OnNonFinite>("on_nonfinite")};
}

}  // namespace tandem::rules
