// SPDX-License-Identifier: MIT
#include "base/printable.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Printable, ShowsBytesOfFiles) {
  EXPECT_EQ(printable("a\x1b\xff", 10), "a\\x1b\\xff");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

TEST(Visible, KeepsTextOfAllLanguages) {
  for (const char* text :
       {"", "plain", "größe λ → ∞", "日本語", "🙂", "two\nlines\tand a tab", "as in CSV\r\n"}) {
    EXPECT_EQ(visible(text), text);
  }
}

TEST(Visible, ShowsWhatSteersTerminals) {
  EXPECT_EQ(visible("\x1b[31mred\x07\r\x7f"), "\\x1b[31mred\\x07\\x0d\\x7f");
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\u009b31m");  // CSI in one character
  EXPECT_EQ(visible("\xe2\x80\xae"
                    "cba"),
            "\\u202ecba");  // right to left from here on
  EXPECT_EQ(visible("\xe2\x81\xa6\xe2\x80\xa8"), "\\u2066\\u2028");
}

TEST(Visible, ShowsWhatIsNoUtf8) {
  EXPECT_EQ(visible("a\xff"
                    "b"),
            "a\\xffb");
  EXPECT_EQ(visible("\xc3"), "\\xc3");                    // cut off
  EXPECT_EQ(visible("\xc0\x9b"), "\\xc0\\x9b");           // an escape in disguise
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a surrogate pair
  EXPECT_EQ(visible("\x9b"
                    "31m"),
            "\\x9b31m");
}

TEST(Visible, OnOneLine) { EXPECT_EQ(visible_line("a\nb\tc\x1b\r\n\r"), "a b c\\x1b  \\x0d"); }

}  // namespace
}  // namespace tandem
