// SPDX-License-Identifier: MIT
// A wheel chooses the kernels that the library chooses.
#include "highway_targets.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::standalone {
namespace {

std::string names(std::int64_t targets) {
  std::string all;
  for (; targets != 0; targets &= targets - 1) {
    all += std::string(hwy::TargetName(targets & -targets)) + ' ';
  }
  return all;
}

TEST(HighwayTargets, AreThoseOfHighwaysLibrary) {
  const std::int64_t compiled = HWY_TARGETS;
  EXPECT_EQ(names(detected_targets() & compiled), names(hwy::SupportedTargets() & compiled));
}

}  // namespace
}  // namespace tandem::standalone
