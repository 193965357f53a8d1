// SPDX-License-Identifier: MIT
// Declarations for others: as structs for C++, as JSON for everybody else.
#include <tandem/registry.h>

#include <nlohmann/json.hpp>
#include <string>

#include "optimizers/values.h"

namespace tandem {
namespace {

/// Order of keys kept: what a reader looks for comes first.
using Json = nlohmann::ordered_json;

std::string range_text(const rules::Option& option) {
  if (std::holds_alternative<std::size_t>(option.default_value)) {
    return option.range == Range::positive ? ">= 1" : ">= 0";
  }
  if (std::holds_alternative<Schedule>(option.default_value)) return ">= 0";
  if (!std::holds_alternative<double>(option.default_value)) return "";
  switch (option.range) {
    case Range::non_negative:
      return ">= 0";
    case Range::positive:
      return "> 0";
    case Range::factor:
      return "> 0, <= 10";
    case Range::fraction:
      return ">= 0, < 1";
  }
  return "";
}

const char* shape_text(rules::StateArray::Shape shape) {
  switch (shape) {
    case rules::StateArray::Shape::like_weights:
      return "like_weights";
    case rules::StateArray::Shape::scalar:
      return "scalar";
    case rules::StateArray::Shape::other:
      return "other";
  }
  return "";
}

OptimizerInfo info_of(const rules::Declaration& rule) {
  OptimizerInfo info{.name = rule.name,
                     .class_name = rule.class_name,
                     .summary = rule.summary,
                     .rule = rule.rule,
                     .state = rule.state_bytes,
                     .reference = rule.reference,
                     .trainable = rule.trainable()};
  for (const rules::Option& option : rule.all_options()) {
    if (std::holds_alternative<std::vector<double>>(option.default_value)) continue;
    info.options.push_back({option.name, rules::type_text(option),
                            rules::value_text(option, option.default_value), range_text(option),
                            option.help});
  }
  for (const rules::StateArray& array : rule.state) {
    info.arrays.push_back({array.name, shape_text(array.shape), array.help});
  }
  for (const rules::Tuning& tuning : rule.tuning) {
    info.tuning.push_back({tuning.option, tuning.low, tuning.high, tuning.points, tuning.zero_too});
  }
  return info;
}

Json to_json(const rules::Declaration& rule) {
  Json options = Json::array();
  for (const rules::Option& option : rule.all_options()) {
    Json one = {{"name", option.name},
                {"type", rules::type_text(option)},
                {"default", rules::value_text(option, option.default_value)},
                {"range", range_text(option)},
                {"help", option.help},
                {"torch", option.torch == "-"    ? Json(nullptr)
                          : option.torch.empty() ? Json(option.name)
                                                 : Json(option.torch)}};
    if (!option.enumeration.empty()) {
      one["enumeration"] = option.enumeration;
      one["choices"] = option.choices;
    }
    options.push_back(std::move(one));
  }
  Json state = Json::array();
  for (const rules::StateArray& array : rule.state) {
    Json one = {{"name", array.name}, {"shape", shape_text(array.shape)}, {"help", array.help}};
    if (!array.torch.empty()) one["torch"] = array.torch;
    if (!array.size.empty()) one["size"] = array.size;
    if (array.shape == rules::StateArray::Shape::scalar) one["initial"] = array.initial;
    state.push_back(std::move(one));
  }
  Json tuning = Json::array();
  for (const rules::Tuning& range : rule.tuning) {
    Json one = {{"option", range.option},
                {"low", range.low},
                {"high", range.high},
                {"points", range.points},
                {"zero_too", range.zero_too}};
    if (range.most_multiple > 0) {
      one["least_multiple"] = range.least_multiple;
      one["most_multiple"] = range.most_multiple;
    }
    tuning.push_back(std::move(one));
  }
  const auto stages = rule.stages(rules::Values(rule));
  return {{"name", rule.name},
          {"class", rule.class_name},
          {"summary", rule.summary},
          {"rule", rule.rule},
          {"reference", rule.reference},
          {"trainable", rule.trainable()},
          {"scales_steps", stages.scaling.stage != kernels::ScalingStage::none},
          {"weights_per_estimate", rule.weights_per_estimate},
          {"state_bytes", rule.state_bytes},
          {"options", std::move(options)},
          {"state", std::move(state)},
          {"tuning", std::move(tuning)},
          {"torch",
           {{"decoupled_weight_decay", rule.torch_decouples},
            {"positional", rule.torch_positional},
            {"counterpart", rule.torch_counterpart}}},
          {"hand_written_class", rule.hand_written_class}};
}

}  // namespace

const std::vector<OptimizerInfo>& optimizer_infos() {
  static const std::vector<OptimizerInfo> kInfos = [] {
    std::vector<OptimizerInfo> infos;
    for (const rules::Declaration& rule : rules::declarations()) infos.push_back(info_of(rule));
    return infos;
  }();
  return kInfos;
}

std::string optimizer_json(std::string_view name) {
  return to_json(rules::known_declaration(name)).dump();
}

}  // namespace tandem
