// SPDX-License-Identifier: MIT
// Which instruction set the kernels run on: Highway's choice, or the user's.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/targets.h>
#include <tandem/version.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/suggest.h"
#include "kernels/kernels.h"

namespace tandem {
namespace {

/// In Highway's order: the best is the lowest bit.
std::vector<std::string> names_of(std::int64_t targets) {
  std::vector<std::string> names;
  for (; targets != 0; targets &= targets - 1) {
    names.emplace_back(hwy::TargetName(targets & -targets));
  }
  return names;
}

}  // namespace

const char* cpu_target() { return kernels::kernels<float>().target; }

std::vector<std::string> cpu_targets() { return names_of(HWY_TARGETS & hwy::SupportedTargets()); }

void set_cpu_target(const std::string& name) {
  const std::vector<std::string> known = names_of(HWY_TARGETS);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw std::invalid_argument(
        fmt::format("Unknown CPU target '{}'{}", name, suggestion(name, known)));
  }
  for (std::int64_t rest = HWY_TARGETS & hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (name != hwy::TargetName(target)) continue;
    hwy::GetChosenTarget().Update(target);
    return;
  }
  throw std::invalid_argument(fmt::format("CPU target {} was asked for, and this CPU runs {}", name,
                                          fmt::join(cpu_targets(), ", ")));
}

}  // namespace tandem
