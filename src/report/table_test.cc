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
  EXPECT_EQ(example().terminal(0),
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

TEST(Table, WritesBooktabs) {
  Table table({{"a_b"}, {"rho", Table::Align::right}});
  table.add({"[x] & y", "-1"});
  EXPECT_EQ(table.latex(),
            "\\begin{tabular}{lr}\n"
            "\\toprule\n"
            "a\\_b & rho \\\\\n"
            "\\midrule\n"
            "{}[x] \\& y & $-$1 \\\\\n"  // a bare '[' would be an option of \\midrule
            "\\bottomrule\n"
            "\\end{tabular}\n");
}

TEST(Table, WritesCsvOfRfc4180) {
  Table table({{"name"}, {"a,b"}});
  table.add({"say \"x\"", "two\nlines"});
  EXPECT_EQ(table.csv(), "name,\"a,b\"\r\n\"say \"\"x\"\"\",\"two\nlines\"\r\n");
}

TEST(Table, WritesHtmlWithoutTagsOfItsCells) {
  Table table({{"<b>"}, {"n", Table::Align::right}});
  table.add({"<script>", "1 & 2"});
  EXPECT_EQ(table.html("a < b"),
            "<table>\n<caption>a &lt; b</caption>\n"
            "<thead><tr><th scope=\"col\">&lt;b&gt;</th><th scope=\"col\" class=\"right\">n</th>"
            "</tr></thead>\n<tbody>\n"
            "<tr><th scope=\"row\">&lt;script&gt;</th><td class=\"right\">1 &amp; 2</td></tr>\n"
            "</tbody>\n</table>\n");
}

TEST(Table, ShowsATerminalNoControls) {
  Table table({{"name"}});
  table.add({"a\x1b[31m\nb"});
  EXPECT_EQ(table.terminal(0), "name\n-----------\na\\x1b[31m b\n");
}

TEST(Table, RefusesRowsOfAnotherWidth) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add({"1"}), std::invalid_argument);
}

}  // namespace
}  // namespace tandem::report
