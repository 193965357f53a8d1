// SPDX-License-Identifier: MIT
#include "train/plan.h"

#include <fmt/format.h>
#include <tandem/optimizers.h>
#include <tandem/registry.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "problems/softmax.h"

namespace tandem::train {
namespace {

std::size_t source_bytes(const Problem& problem, const std::string& source) {
  const std::size_t vector = problem.dimension() * sizeof(float);
  // Vectors of state and of scratch.
  if (source == "svrg" || source == "storm") return 6 * vector;
  if (source != "saga") return 0;
  if (const auto* softmax = dynamic_cast<const problems::SoftmaxRegression*>(&problem)) {
    return vector + problem.samples() * softmax->task().train.classes * sizeof(float);
  }
  return vector * (problem.samples() + 2);
}

}  // namespace

std::size_t total_steps(const Problem& problem, const TrainOptions& options) {
  const std::size_t pass = options.batch == 0 ? 0 : problem.samples() / options.batch;
  const std::size_t epoch = options.epoch_steps > 0 ? options.epoch_steps : pass;
  return epoch > 0 && options.epochs > kAnySteps / epoch ? kAnySteps : epoch * options.epochs;
}

std::size_t member_bytes(const Problem& problem, const Setting& setting, std::size_t steps) {
  const sources::Method method = sources::parse_method(setting.method);
  const std::size_t vector = problem.dimension() * sizeof(float);
  // What the size of the state depends on; the others may be the source's.
  OptionMap options;
  for (const auto& [name, value] : setting.options) {
    std::string field = name;
    std::replace(field.begin(), field.end(), '-', '_');
    const bool full = method.rule == "full-to" && (field == "form" || field == "memory_limit" ||
                                                   field == "max_steps" || field == "projection");
    if (full || (method.rule == "block-to" && field == "block")) options[field] = value;
  }
  const auto optimizer = make_optimizer(method.rule, problem.dimension(), options);
  return vector + optimizer->most_bytes(steps) + source_bytes(problem, method.source);
}

Plan make_plan(const Problem& problem, const std::vector<Setting>& settings, std::size_t budget,
               std::size_t steps) {
  Plan plan;
  const bool one_at_a_time = problem.session(0) != nullptr;
  std::size_t bytes = 0;
  for (std::size_t id = 0; id < settings.size(); ++id) {
    const std::size_t own = member_bytes(problem, settings[id], steps);
    if (own > budget) {
      throw std::invalid_argument(
          fmt::format("{}: one member needs {} bytes, the memory budget is {}", settings[id].method,
                      own, budget));
    }
    if (plan.waves.empty() || one_at_a_time || bytes + own > budget) {
      plan.waves.emplace_back();
      bytes = 0;
    }
    bytes += own;
    plan.waves.back().push_back(id);
    plan.peak_bytes = std::max(plan.peak_bytes, bytes);
  }
  return plan;
}

}  // namespace tandem::train
