// SPDX-License-Identifier: MIT
// For tests of kernels: random values, and a way to run a check on every instruction set that this
// CPU and this build have.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace tandem::kernels {

template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(normal(engine));
  return values;
}

template <class Check>
void on_every_target(const Check& check) {
  std::set<std::string> seen;
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t targets = all; targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const std::string name = kernels<float>().target;
    if (seen.insert(name).second) {
      SCOPED_TRACE(name);
      check();
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_FALSE(seen.empty());
}

}  // namespace tandem::kernels
