// SPDX-License-Identifier: MIT
// The user's choice of an instruction set, on this CPU and on one that has less.
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <tandem/version.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace tandem {
namespace {

std::string refusal_of(const std::string& target) {
  try {
    set_cpu_target(target);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

/// Afterwards the kernels run on the best target again.
class CpuTarget : public ::testing::Test {
 protected:
  ~CpuTarget() override { set_cpu_target(cpu_targets().front()); }
};

TEST_F(CpuTarget, IsTheBestUnlessAnotherIsChosen) {
  ASSERT_FALSE(cpu_targets().empty());
  EXPECT_EQ(cpu_target(), cpu_targets().front());
  for (const std::string& target : cpu_targets()) {
    set_cpu_target(target);
    EXPECT_EQ(cpu_target(), target);
    EXPECT_EQ(kernels::kernels<double>().target, target);
  }
}

TEST_F(CpuTarget, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(refusal_of("EMU12"), "Unknown CPU target 'EMU12', did you mean 'EMU128'?");
  EXPECT_EQ(refusal_of("fast").rfind("Unknown CPU target 'fast', expected one of ", 0), 0U);
  EXPECT_NE(refusal_of(""), "");
  EXPECT_EQ(cpu_target(), cpu_targets().front());
}

TEST_F(CpuTarget, WhatTheCpuDoesNotRunIsRefusedWithBothNames) {
  const std::vector<std::string> targets = cpu_targets();
  if (targets.size() < 2) GTEST_SKIP() << "this CPU runs " << targets.front() << " alone";
  hwy::SetSupportedTargetsForTest(HWY_EMU128);
  const std::string found = refusal_of(targets.front());
  const std::vector<std::string> left = cpu_targets();
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(left, std::vector<std::string>{"EMU128"});
  EXPECT_EQ(found, "CPU target " + targets.front() + " was asked for, and this CPU runs EMU128");
}

}  // namespace
}  // namespace tandem
