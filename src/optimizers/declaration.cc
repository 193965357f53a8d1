// SPDX-License-Identifier: MIT
#include "optimizers/declaration.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "optimizers/rules/all.h"

namespace tandem::rules {

Option Option::in_torch(std::string torch_name) && {
  torch = std::move(torch_name);
  return std::move(*this);
}

Option rate(std::string name, double value, std::string help) {
  return {std::move(name), Schedule(value), std::move(help)};
}
Option number(std::string name, double value, Range range, std::string help) {
  return {std::move(name), value, std::move(help), range};
}
Option flag(std::string name, bool value, std::string help) {
  return {std::move(name), value, std::move(help)};
}
Option count(std::string name, std::size_t value, Range range, std::string help) {
  return {std::move(name), value, std::move(help), range};
}
Option starting_values(std::string name, std::string help) {
  return {.name = std::move(name),
          .default_value = std::vector<double>{},
          .help = std::move(help),
          .torch = "-"};
}

namespace {

template <class E>
const std::vector<std::string>& listed() {
  static constexpr auto kTexts = names_of(E{});
  static const std::vector<std::string> kNames(kTexts.begin(), kTexts.end());
  return kNames;
}

}  // namespace

const std::vector<std::string>& choices_of(std::string_view enumeration) {
  static const std::vector<std::string> kNone;
  if (enumeration == "OnNonFinite") return listed<OnNonFinite>();
  if (enumeration == "Form") return listed<Form>();
  if (enumeration == "MomentumForm") return listed<MomentumForm>();
  if (enumeration == "StateType") return listed<StateType>();
  if (enumeration == "StateRounding") return listed<StateRounding>();
  return kNone;
}

Option choice(std::string name, std::string enumeration, std::size_t value, std::string help) {
  const std::vector<std::string> choices = choices_of(enumeration);
  return {.name = std::move(name),
          .default_value = Choice{value},
          .help = std::move(help),
          .enumeration = std::move(enumeration),
          .choices = choices};
}

namespace {

/// Rates and decay first, what all rules have last.
std::vector<Option> complete_options(const Declaration& rule) {
  std::vector<Option> all;
  const auto is_rate = [](const Option& option) {
    return std::holds_alternative<Schedule>(option.default_value);
  };
  std::copy_if(rule.options.begin(), rule.options.end(), std::back_inserter(all), is_rate);
  all.push_back(number("decay", 1, Range::factor,
                       rule.trainable() ? "lr, alpha and beta are multiplied by decay^epoch."
                                        : "lr is multiplied by decay^epoch.")
                    .not_in_torch());
  std::remove_copy_if(rule.options.begin(), rule.options.end(), std::back_inserter(all), is_rate);
  if (rule.narrow_state) {
    all.push_back(choice("state", "StateType", 0,
                         "How state is kept: full is float (double for double weights), bfloat16 "
                         "takes half the memory.")
                      .in_torch("state_type"));
    all.push_back(choice("state_rounding", "StateRounding", 0,
                         "Of bfloat16 state; to nearest, an average that changes by less than a "
                         "256th of itself never changes."));
    all.push_back(count("state_seed", 0, Range::non_negative,
                        "Of the noise of stochastic rounding, which depends on it, the step, the "
                        "array and the element's number, and on nothing else."));
  }
  all.push_back(
      number("l2", 0, Range::non_negative, "Adds l2 * w to the gradient.")
          .in_torch(rule.torch_decouples ? (rule.trainable() ? "" : "-") : "weight_decay"));
  all.push_back(number("weight_decay", rule.weight_decay, Range::non_negative,
                       "Multiplies the weights by 1 - lr * weight_decay.")
                    .in_torch(rule.torch_decouples ? "" : "-"));
  all.push_back(Option{.name = "projection",
                       .default_value = Projection(),
                       .help = "None, an l2 ball about 0 over all segments together, or a box.",
                       .torch = "-"});
  all.push_back(choice("on_nonfinite", "OnNonFinite", 0,
                       "A gradient with NaN or infinity: raise an error, skip the step and count "
                       "it, or ignore: do not look, which saves one read of the gradient."));
  return all;
}

}  // namespace

const std::vector<Option>& Declaration::all_options() const { return complete; }

const Option* Declaration::find(std::string_view option) const {
  const auto found = std::find_if(complete.begin(), complete.end(),
                                  [&](const Option& one) { return one.name == option; });
  return found == complete.end() ? nullptr : &*found;
}

const std::vector<Declaration>& declarations() {
  static const std::vector<Declaration> kAll = [] {
    std::vector<Declaration> all = declare_all();
    for (Declaration& rule : all) rule.complete = complete_options(rule);
    std::stable_sort(all.begin(), all.end(),
                     [](const Declaration& x, const Declaration& y) { return x.order < y.order; });
    return all;
  }();
  return kAll;
}

const Declaration* find_declaration(std::string_view name) {
  const std::vector<Declaration>& all = declarations();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Declaration& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace tandem::rules
