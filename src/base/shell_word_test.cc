// SPDX-License-Identifier: MIT
#include "base/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/printable.h"
#include "tests/temp_folder.h"

namespace tandem {
namespace {

TEST(ShellWord, QuotesWhatHasToBeQuoted) {
  EXPECT_EQ(shell_word("a/b-c_d=1.5,x:y@z%+"), "a/b-c_d=1.5,x:y@z%+");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  EXPECT_EQ(shell_word("$(touch x)"), "'$(touch x)'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("~/x"), "'~/x'");
  EXPECT_EQ(shell_word("größe"), "'größe'");
  EXPECT_EQ(shell_word("a\x1b[1m'\\"), "$'a\\033[1m\\'\\\\'");
  EXPECT_EQ(shell_word("a\n1"), "$'a\\0121'");
  EXPECT_EQ(shell_word("\xff"), "$'\\377'");
}

TEST(ShellWord, AShellReadsBackWhatItWas) {
  if (std::system("bash -c true 2>/dev/null") != 0) GTEST_SKIP() << "no bash";
  const tests::TempFolder folder;
  for (const std::string text :
       {"plain", "two words", "`id`", "$HOME \"x\"", "a'b''c", "-x", "!!", "*?[a]", "#x", "größe",
        "\x1b]0;title\x07", "a\nb\tc\r", "\xff\xfe", "\xe2\x80\xae reversed", "\\", "\0011"}) {
    const std::string command = "printf %s. " + shell_word(text);
    EXPECT_EQ(visible(command), command);
    const std::string script = folder.write("script", command).string();
    std::FILE* pipe = popen(("bash " + script).c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::array<char, 256> got{};
    const std::size_t count = std::fread(got.data(), 1, got.size(), pipe);
    pclose(pipe);
    EXPECT_EQ(std::string(got.data(), count), text + ".") << command;
  }
}

}  // namespace
}  // namespace tandem
