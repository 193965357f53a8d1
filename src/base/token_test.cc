// SPDX-License-Identifier: MIT
#include "base/token.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Token, IsNewEachTime) {
  const std::string token = random_token();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(random_token(), token);
}

}  // namespace
}  // namespace tandem
