// SPDX-License-Identifier: MIT
#include "train/plan.h"

#include <fmt/format.h>
#include <tandem/options.h>

#include <algorithm>
#include <stdexcept>

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

std::size_t member_bytes(const Problem& problem, const Setting& setting) {
  const sources::Method method = sources::parse_method(setting.method);
  const std::size_t vector = problem.dimension() * sizeof(float);
  std::size_t state = 0;
  if (method.rule == "full-to") {
    // It may become dense, and then holds the history beside the matrix for a moment: its limit is
    // what it may take.
    const auto given = setting.options.find("memory_limit");
    const std::size_t limit =
        given != setting.options.end() ? std::stoull(given->second) : FullTOOptions{}.memory_limit;
    const std::size_t dense = (problem.dimension() + 200) * vector;
    state = std::min(limit, 2 * dense);
  } else {
    OptionMap none;
    if (const auto block = setting.options.find("block"); block != setting.options.end()) {
      none["block"] = block->second;
    }
    state = make_optimizer(method.rule, problem.dimension(), none)->state_bytes();
    if (method.rule == "block-to") state += 3 * vector;
  }
  return vector + state + source_bytes(problem, method.source);
}

Plan make_plan(const Problem& problem, const std::vector<Setting>& settings, std::size_t budget) {
  Plan plan;
  const bool one_at_a_time = problem.session(0) != nullptr;
  std::size_t bytes = 0;
  for (std::size_t id = 0; id < settings.size(); ++id) {
    const std::size_t own = member_bytes(problem, settings[id]);
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
