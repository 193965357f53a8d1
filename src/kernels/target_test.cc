// SPDX-License-Identifier: MIT
// The user's choice of an instruction set.
#include <gtest/gtest.h>
#include <tandem/version.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/target.h"

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

TEST_F(CpuTarget, StaysWhenAskedWhatThereIs) {
  set_cpu_target(cpu_targets().back());
  EXPECT_EQ(cpu_targets().front(), cpu_targets().front());
  EXPECT_EQ(cpu_target(), cpu_targets().back());
}

TEST_F(CpuTarget, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(refusal_of(cpu_targets().back() + "X"), "Unknown CPU target '" + cpu_targets().back() +
                                                        "X', did you mean '" +
                                                        cpu_targets().back() + "'?");
  EXPECT_EQ(refusal_of("fastest").rfind("Unknown CPU target 'fastest', expected one of ", 0), 0U);
  EXPECT_NE(refusal_of(""), "");
  EXPECT_EQ(cpu_target(), cpu_targets().front());
}

TEST_F(CpuTarget, WhatTheCpuDoesNotRunIsRefusedWithWhatItRuns) {
  try {
    kernels::check_target("AVX3", {"AVX3", "AVX2", "SSE4"}, {"AVX2", "SSE4"});
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "CPU target AVX3 was asked for, and this CPU runs AVX2, SSE4");
  }
}

}  // namespace
}  // namespace tandem
