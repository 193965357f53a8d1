// SPDX-License-Identifier: MIT
// Optimizers by name.
#include <fmt/format.h>
#include <tandem/full_to.h>
#include <tandem/registry.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/suggest.h"
#include "optimizers/full.h"
#include "optimizers/stepper.h"
#include "optimizers/values.h"

namespace tandem {
namespace {

/// Methods of the laboratory: a source of gradients with a rule.
const std::vector<std::string> kMethods = {"saga", "svrg", "storm", "vradam"};

/// An optimizer of a rule that is known by its name alone.
class NamedOptimizer : public Optimizer {
 public:
  explicit NamedOptimizer(detail::Recipe&& recipe) : Optimizer(std::move(recipe)) {}
};

FormInfo current_form(const detail::Stepper& stepper) {
  if (const auto* engine = std::get_if<detail::Stepper::FloatEngine>(&stepper.engine())) {
    return form_info((*engine)->estimator());
  }
  if (const auto* engine = std::get_if<detail::Stepper::DoubleEngine>(&stepper.engine())) {
    return form_info((*engine)->estimator());
  }
  return planned_form(stepper.recipe(), stepper.layout().dimension(), sizeof(float));
}

}  // namespace

const rules::Declaration& rules::known_declaration(std::string_view name) {
  if (const Declaration* rule = find_declaration(name)) return *rule;
  const std::string base(name.substr(0, name.find('+')));
  if (std::find(kMethods.begin(), kMethods.end(), base) != kMethods.end()) {
    throw std::invalid_argument(fmt::format(
        "Optimizer '{}' needs a problem, not only a gradient: it evaluates gradients of its own",
        name));
  }
  std::vector<std::string> known;
  for (const Declaration& rule : declarations()) known.push_back(rule.name);
  throw std::invalid_argument(
      fmt::format("Unknown optimizer '{}'{}", name, suggestion(name, known)));
}

Form FullTO::form() const { return current_form(stepper()).form; }
std::string FullTO::form_reason() const { return current_form(stepper()).reason; }

std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          const std::vector<SegmentSpec>& segments,
                                          const OptionMap& options) {
  rules::Values values(rules::known_declaration(name));
  for (const auto& [option, text] : options) values.set_text(option, text);
  return std::make_unique<NamedOptimizer>(rules::make_recipe(values, segments));
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, std::size_t dimension,
                                          const OptionMap& options) {
  return make_optimizer(name, {SegmentSpec{dimension}}, options);
}

}  // namespace tandem
