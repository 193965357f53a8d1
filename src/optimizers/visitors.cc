// SPDX-License-Identifier: MIT
#include "optimizers/visitors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/suggest.h"
#include "optimizers/text.h"

namespace tandem::rules {
namespace {

// In the order of the enums.
const std::vector<std::string> kOnNonFinite = {"raise", "skip", "ignore"};
const std::vector<std::string> kForm = {"automatic", "dense", "span"};
const std::vector<std::string> kMomentumForm = {"ema", "torch"};

OptionInfo describe_choice(const std::vector<std::string>& choices, std::size_t at) {
  return {"", fmt::format("{}", fmt::join(choices, "|")), choices[at]};
}

}  // namespace

void CheckFields::operator()(const char* name, std::size_t value) {
  // max_steps: 0 is unknown. A block or a memory limit of nothing is a mistake.
  if (value == 0 && std::string_view(name) != "max_steps") {
    throw std::invalid_argument(
        fmt::format("{}: Invalid {}: 0, expected a count >= 1", rule_, name));
  }
}

void SetField::fail(const std::string& expected) const {
  throw std::invalid_argument(
      fmt::format("{}: Invalid {}: '{}', expected {}", rule_, name_, text_, expected));
}

void SetField::finish() const {
  if (found_) return;
  throw std::invalid_argument(
      fmt::format("{}: Unknown option '{}'{}", rule_, name_, suggestion(name_, known_)));
}

std::size_t SetField::choice(const std::vector<std::string>& choices) const {
  const auto at = std::find(choices.begin(), choices.end(), text_);
  if (at == choices.end()) fail(fmt::format("one of {}", fmt::join(choices, ", ")));
  return static_cast<std::size_t>(at - choices.begin());
}

void SetField::read(Schedule& field) {
  try {
    field = Schedule::parse(text_);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: Invalid {}: {}", rule_, name_, error.what()));
  }
}

void SetField::read(Projection& field) {
  try {
    field = Projection::parse(text_);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: Invalid {}: {}", rule_, name_, error.what()));
  }
}

void SetField::read(double& field) {
  const auto value = read_number(text_);
  if (!value) fail("a number");
  field = *value;
}

void SetField::read(bool& field) {
  static const std::vector<std::string> kTrue = {"true", "on", "yes", "1"};
  static const std::vector<std::string> kFalse = {"false", "off", "no", "0"};
  if (std::find(kTrue.begin(), kTrue.end(), text_) != kTrue.end()) {
    field = true;
  } else if (std::find(kFalse.begin(), kFalse.end(), text_) != kFalse.end()) {
    field = false;
  } else {
    fail("true or false");
  }
}

void SetField::read(std::size_t& field) {
  std::size_t value = 0;
  const char* end = text_.data() + text_.size();
  const auto result = std::from_chars(text_.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) fail("a count");
  field = value;
}

void SetField::read(OnNonFinite& field) { field = static_cast<OnNonFinite>(choice(kOnNonFinite)); }
void SetField::read(Form& field) { field = static_cast<Form>(choice(kForm)); }
void SetField::read(MomentumForm& field) {
  field = static_cast<MomentumForm>(choice(kMomentumForm));
}

OptionInfo ListFields::describe(const Schedule& field) {
  return {"", "schedule", field.to_string()};
}
OptionInfo ListFields::describe(double field) { return {"", "number", number_text(field)}; }
OptionInfo ListFields::describe(bool field) { return {"", "flag", field ? "true" : "false"}; }
OptionInfo ListFields::describe(std::size_t field) { return {"", "count", std::to_string(field)}; }
OptionInfo ListFields::describe(const Projection& field) {
  return {"", "projection", field.to_string()};
}
OptionInfo ListFields::describe(OnNonFinite field) {
  return describe_choice(kOnNonFinite, static_cast<std::size_t>(field));
}
OptionInfo ListFields::describe(Form field) {
  return describe_choice(kForm, static_cast<std::size_t>(field));
}
OptionInfo ListFields::describe(MomentumForm field) {
  return describe_choice(kMomentumForm, static_cast<std::size_t>(field));
}

}  // namespace tandem::rules
