// SPDX-License-Identifier: MIT
// For tests of kernels: random values, and a way to run a check on every instruction set that this
// CPU and this build have.
#pragma once

#include <gtest/gtest.h>
#include <tandem/version.h>

#include <cstddef>
#include <random>
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
  const std::vector<std::string> targets = cpu_targets();
  for (const std::string& target : targets) {
    SCOPED_TRACE(target);
    set_cpu_target(target);
    check();
  }
  set_cpu_target(targets.front());
}

}  // namespace tandem::kernels
