// SPDX-License-Identifier: MIT
#include "base/bytes_text.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(BytesText, TheUnitThatFits) {
  EXPECT_EQ(bytes_text(std::size_t{0}), "0 B");
  EXPECT_EQ(bytes_text(std::size_t{1023}), "1023 B");
  EXPECT_EQ(bytes_text(std::size_t{1024}), "1.0 KiB");
  EXPECT_EQ(bytes_text(std::size_t{154448}), "150.8 KiB");
  EXPECT_EQ(bytes_text(std::size_t{42857694440}), "39.9 GiB");
  EXPECT_EQ(bytes_text(0x1p80), "1048576.0 EiB");
}

}  // namespace
}  // namespace tandem
