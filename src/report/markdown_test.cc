// SPDX-License-Identifier: MIT
#include "report/markdown.h"

#include <gtest/gtest.h>

namespace tandem::report {
namespace {

TEST(Markdown, APageOfEverything) {
  Table table({{"a|b"}});
  table.add({"1"});
  Figure figure;
  figure.name = "curve";
  figure.title = "T";
  figure.x.label = "x";
  figure.y.label = "y";
  figure.series = {{.label = "s", .x = {1, 2}, .y = {1, 2}}};
  figure.caption = "What it shows.";
  const Document document{.title = "Title <b>",
                          .summary = "One.\n\nTwo.",
                          .sections = {{.title = "Part",
                                        .text = "Text.",
                                        .tables = {{table, "Caption"}},
                                        .figures = {figure}}},
                          .commands = {"tandem demo"},
                          .facts = {{"machine", "any"}}};
  const std::string head =
      "# Title &lt;b>\n\nOne.\n\nTwo.\n\n    tandem demo\n\n- machine: any\n\n"
      "## Part\n\nText.\n\nCaption:\n\n| a\\|b |\n|---|\n| 1 |\n\n";
  EXPECT_EQ(markdown_page(document),
            head + "![T: y against x; s](curve.svg)\n\nWhat it shows.\n\n");
  EXPECT_EQ(markdown_page(document, false), head + "No figures: gnuplot was not found.\n\n");
}

}  // namespace
}  // namespace tandem::report
