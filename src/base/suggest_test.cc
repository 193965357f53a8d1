// SPDX-License-Identifier: MIT
#include "base/suggest.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

const std::vector<std::string> kNames = {"diag-to", "ro-to", "adam", "adamw", "lion"};

TEST(Suggest, FindsTheNearestName) {
  EXPECT_EQ(nearest("diagto", kNames), "diag-to");
  EXPECT_EQ(nearest("adma", kNames), "adam");    // two neighbours swapped: one edit
  EXPECT_EQ(nearest("AdamW", kNames), "adamw");  // case does not count
}

TEST(Suggest, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest("newton-raphson", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("xy", {"lr"}), "");  // nothing in common is not a misspelling
}

TEST(Suggest, EndsAMessage) {
  EXPECT_EQ(suggestion("lion2", kNames), ", did you mean 'lion'?");
  EXPECT_EQ(suggestion("zzzzzzzz", {"a", "b"}), ", expected one of a, b");
}

}  // namespace
}  // namespace tandem
