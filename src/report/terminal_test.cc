// SPDX-License-Identifier: MIT
// Tables and texts on a terminal of some width.
#include "report/terminal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "report/escape.h"
#include "report/table.h"

namespace tandem::report {
namespace {

using Align = Table::Align;
using Lines = std::vector<std::string>;

std::size_t longest_line(const std::string& text) {
  std::istringstream stream(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(stream, line);) longest = std::max(longest, characters(line));
  return longest;
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(wrapped("", 5), Lines{""});
  EXPECT_EQ(wrapped("abcde", 5), Lines{"abcde"});
  EXPECT_EQ(wrapped("ab cd ef", 5), (Lines{"ab cd", "ef"}));
  EXPECT_EQ(wrapped("ab cd ef", 4), (Lines{"ab", "cd", "ef"}));
}

TEST(Wrapped, CutsWordsThatAreTooLong) {
  EXPECT_EQ(wrapped("abcdefg h", 3), (Lines{"abc", "def", "g h"}));
  EXPECT_EQ(wrapped("größer", 3), (Lines{"grö", "ßer"}));
  EXPECT_EQ(wrapped("   abcdef", 4), (Lines{"   a", "bcde", "f"}));
}

TEST(TerminalWidth, TakesColumnsFirst) {
  setenv("COLUMNS", "72", 1);
  EXPECT_EQ(terminal_width(0), 72U);
  for (const char* bad : {"", "0", "x", "80x", "-3"}) {
    setenv("COLUMNS", bad, 1);
    EXPECT_EQ(terminal_width(-1), 0U) << bad;
  }
  unsetenv("COLUMNS");
  EXPECT_EQ(terminal_width(-1), 0U);
}

TEST(TableWidth, ATableThatFitsStaysAsItIs) {
  Table table({{"name"}, {"n", Align::right}});
  table.add({"adam", "5"});
  EXPECT_EQ(table.terminal(80), table.terminal(0));
}

TEST(TableWidth, LongTextsAreBroken) {
  Table table({{"name"}, {"n", Align::right}, {"what it says"}});
  table.add({"adam", "5", "one two three four five six seven"});
  EXPECT_EQ(table.terminal(40),
            "name  n  what it says\n"
            "----  -  -------------------------------\n"
            "adam  5  one two three four five six\n"
            "         seven\n");
}

TEST(TableWidth, ManyColumnsBecomeBlocksThatNameTheirRows) {
  Table table({{"task"},
               {"name"},
               {"first number", Align::right},
               {"second", Align::right},
               {"third", Align::right}});
  table.add({"kdd", "adam", "1", "2", "3"});
  table.add({"kdd", "diag-to", "4", "5", "6"});
  EXPECT_EQ(table.terminal(34),
            "task  name     first number\n"
            "----  -------  ------------\n"
            "kdd   adam                1\n"
            "kdd   diag-to             4\n"
            "\n"
            "task  name     second  third\n"
            "----  -------  ------  -----\n"
            "kdd   adam          2      3\n"
            "kdd   diag-to       5      6\n");
}

TEST(TableWidth, NoLineIsLongerAndNothingIsLost) {
  std::vector<Table::Column> columns;
  for (int c = 0; c < 9; ++c) {
    columns.push_back({"column " + std::to_string(c), c % 3 == 2 ? Align::right : Align::left});
  }
  Table table(columns);
  for (int r = 0; r < 4; ++r) {
    std::vector<std::string> cells;
    for (int c = 0; c < 9; ++c) {
      cells.push_back("r" + std::to_string(r) + "c" + std::to_string(c) +
                      std::string(static_cast<std::size_t>(c * c), 'x') + " end");
    }
    table.add(cells);
  }
  for (std::size_t width = 20; width < 300; ++width) {
    const std::string text = table.terminal(width);
    EXPECT_LE(longest_line(text), width);
    for (int c = 0; c < 9; ++c) {
      EXPECT_NE(text.find("r3c" + std::to_string(c)), std::string::npos) << width;
    }
  }
  EXPECT_LE(longest_line(table.terminal(3)), 20U);
}

TEST(TableWidth, OneLongColumn) {
  Table table({{"x"}});
  table.add({std::string(100, 'a')});
  EXPECT_EQ(longest_line(table.terminal(50)), 50U);
}

}  // namespace
}  // namespace tandem::report
