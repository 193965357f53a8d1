// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tandem::report {
namespace {

Table example() {
  Table table({{"name", Table::Align::left}, {"ns", Table::Align::right}});
  table.add({"adam", "594"});
  table.add({"größe|x", "7"});
  return table;
}

TEST(Table, AlignsByCharactersForATerminal) {
  EXPECT_EQ(example().terminal(),
            "name      ns\n"
            "-------  ---\n"
            "adam     594\n"
            "größe|x    7\n");
}

TEST(Table, EscapesBarsInMarkdown) {
  EXPECT_EQ(example().markdown(),
            "| name | ns |\n"
            "|---|---:|\n"
            "| adam | 594 |\n"
            "| größe\\|x | 7 |\n");
}

TEST(Table, RefusesRowsOfAnotherWidth) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add({"1"}), std::invalid_argument);
}

}  // namespace
}  // namespace tandem::report
