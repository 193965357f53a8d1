// SPDX-License-Identifier: MIT
#include "data/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "base/suggest.h"
#include "data/fields.h"

namespace tandem::data {
namespace {

[[noreturn]] void refuse(const Request& request, const std::string& option,
                         const std::string& expected) {
  throw std::invalid_argument(fmt::format("Invalid option {} = '{}' of data set '{}', expected {}",
                                          option, request.text(option), request.recipe.name,
                                          expected));
}

void set_option(Request& request, const std::string& name, const std::string& value) {
  if (!request.options.contains(name)) {
    std::vector<std::string> known;
    for (const OptionInfo& option : request.recipe.options) known.push_back(option.name);
    throw std::invalid_argument(fmt::format("Unknown option '{}' of data set '{}'{}", name,
                                            request.recipe.name, suggestion(name, known)));
  }
  request.options[name] = value;
}

/// "rows=100,features=5" after the colon.
void set_inline_options(Request& request) {
  std::string_view rest = request.argument;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view item = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equal = item.find('=');
    if (equal == std::string_view::npos) {
      throw std::invalid_argument(
          fmt::format("Invalid '{}' after '{}:', expected NAME=VALUE", item, request.recipe.name));
    }
    set_option(request, std::string(trim(item.substr(0, equal))),
               std::string(trim(item.substr(equal + 1))));
  }
}

}  // namespace

const Recipe& find_recipe(const std::string& spec) {
  const std::string name = spec.substr(0, spec.find(':'));
  std::vector<std::string> known;
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == name) return recipe;
    known.push_back(recipe.name);
  }
  throw std::invalid_argument(
      fmt::format("Unknown data set '{}'{}", name, suggestion(name, known)));
}

const std::string& Request::text(const std::string& option) const { return options.at(option); }

const std::string& Request::choice(const std::string& option,
                                   std::initializer_list<const char*> known) const {
  const std::string& value = text(option);
  if (std::find(known.begin(), known.end(), value) == known.end()) {
    refuse(
        *this, option,
        fmt::format("{}", fmt::join(std::vector<std::string>(known.begin(), known.end()), ", ")));
  }
  return value;
}

bool Request::flag(const std::string& option) const {
  return choice(option, {"on", "off"}) == "on";
}

std::size_t Request::count(const std::string& option, std::size_t least, std::size_t most) const {
  const auto value = parse_count(text(option));
  if (!value || *value < least || *value > most) {
    refuse(*this, option, fmt::format("{} to {}", least, most));
  }
  return *value;
}

Task load_task(const std::string& spec, const LoadOptions& options) {
  const Recipe& recipe = find_recipe(spec);
  Request request{.recipe = recipe, .argument = "", .load = options, .options = {}};
  const std::size_t colon = spec.find(':');
  if (colon != std::string::npos) request.argument = spec.substr(colon + 1);
  for (const OptionInfo& option : recipe.options) {
    request.options[option.name] = option.default_value;
  }
  if (!recipe.argument.empty() && request.argument.empty()) {
    throw std::invalid_argument(
        fmt::format("Data set '{}' needs an argument: {}:{}", spec, recipe.name, recipe.argument));
  }
  if (recipe.argument.empty()) set_inline_options(request);
  for (const auto& [name, value] : options.options) set_option(request, name, value);
  if (!(options.validation >= 0 && options.validation < 1)) {
    throw std::invalid_argument(fmt::format(
        "Invalid validation fraction {}, expected 0 <= fraction < 1", options.validation));
  }
  Task task = recipe.load(request);
  task.train.name = spec;
  if (task.validation) task.validation->name = spec + " (validation)";
  return task;
}

}  // namespace tandem::data
