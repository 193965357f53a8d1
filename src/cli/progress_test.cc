// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <limits>

namespace tandem::cli {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

TEST(Progress, DrawsALine) {
  EXPECT_EQ(progress_line(0.5, 90, "epoch 5", 80),
            "[############............]  50 %, 1 min 30 s left  epoch 5");
  EXPECT_EQ(progress_line(0, kUnknown, "x", 80), "[........................]   0 %  x");
  EXPECT_EQ(progress_line(1.5, 0, "", 80), "[########################] 100 %, 0 s left  ");
}

TEST(Progress, FitsTheTerminal) {
  EXPECT_EQ(progress_line(0.5, kUnknown, std::string(200, 'x'), 60).size(), 59U);
  EXPECT_EQ(progress_line(0.5, kUnknown, "x", 0).size(), 1U);
}

TEST(Progress, TellsTime) {
  EXPECT_EQ(duration_text(0.2), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(61), "1 min 01 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
  EXPECT_EQ(duration_text(kUnknown), "unknown");
}

}  // namespace
}  // namespace tandem::cli
