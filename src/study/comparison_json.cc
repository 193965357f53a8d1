// SPDX-License-Identifier: MIT
// A row of a comparison as JSON: the keys of `tandem report --json`.
#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>

#include "study/comparison.h"

namespace tandem::study {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json json_of(char value) { return std::string(1, value); }
Json json_of(std::unsigned_integral auto value) { return value; }
Json json_of(const std::array<double, 2>& ends) {
  return Json::array({json_of(ends[0]), json_of(ends[1])});
}
Json json_of(const BestOf& best) {
  return {{"n", best.n},
          {"expected", json_of(best.expected)},
          {"low", json_of(best.low)},
          {"median", json_of(best.median)},
          {"high", json_of(best.high)}};
}

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

template <class T>
Json json_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

}  // namespace

Json to_json(const Row& row) {
  return {{"study", row.study},
          {"data", row.data},
          {"model", row.model},
          {"lambda", json_of(row.lambda)},
          {"optimizer", row.optimizer},
          {"options", row.options},
          {"edge", row.edge},
          {"rho", json_of(row.rho)},
          {"mark", json_of(row.mark)},
          {"s", json_of(row.s)},
          {"p", json_of(row.p)},
          {"interval", json_of(row.interval)},
          {"min_loss", json_of(row.min_loss)},
          {"gap", json_of(row.gap)},
          {"diverged", row.diverged},
          {"members", row.members},
          {"gradient_evaluations", json_of(row.gradient_evaluations)},
          {"seconds", json_of(row.seconds)},
          {"state_bytes", json_of(row.state_bytes)},
          {"task", row.task},
          {"method", row.method},
          {"baseline", row.baseline},
          {"ablation", row.ablation},
          {"pruned", row.pruned},
          {"seeds", row.seeds},
          {"rho_seeds", json_of(row.rho_seeds)},
          {"p_holm", json_of(row.p_holm)},
          {"measured", row.measured},
          {"measured_diverged", row.measured_diverged},
          {"rho_evaluations", json_of(row.rho_evaluations)},
          {"rho_seconds", json_of(row.rho_seconds)},
          {"tuned_loss", json_of(row.tuned_loss)},
          {"rho_tuned", json_of(row.rho_tuned)},
          {"rho_budget", json_of(row.rho_budget)},
          {"budget", row.budget},
          {"best_of", json_of(row.best_of)}};
}

}  // namespace tandem::study
