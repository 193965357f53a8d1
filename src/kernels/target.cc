// SPDX-License-Identifier: MIT
// Which instruction set the kernels run on: Highway's choice, or the user's.
#include "kernels/target.h"

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

/// Asked once: Highway chooses anew whenever it is asked.
std::int64_t supported() {
  static const std::int64_t kSupported = HWY_TARGETS & hwy::SupportedTargets();
  return kSupported;
}

}  // namespace

void kernels::check_target(const std::string& name, const std::vector<std::string>& known,
                           const std::vector<std::string>& runs) {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!has(known)) {
    throw std::invalid_argument(
        fmt::format("Unknown CPU target '{}'{}", name, suggestion(name, known)));
  }
  if (!has(runs)) {
    throw std::invalid_argument(fmt::format("CPU target {} was asked for, and this CPU runs {}",
                                            name, fmt::join(runs, ", ")));
  }
}

const char* cpu_target() {
  supported();  // which chooses the best
  return kernels::kernels<float>().target;
}

std::vector<std::string> cpu_targets() { return names_of(supported()); }

void set_cpu_target(const std::string& name) {
  kernels::check_target(name, names_of(HWY_TARGETS), cpu_targets());
  std::int64_t rest = supported();
  while (name != hwy::TargetName(rest & -rest)) rest &= rest - 1;
  hwy::GetChosenTarget().Update(rest & -rest);
}

}  // namespace tandem
