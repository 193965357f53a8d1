// SPDX-License-Identifier: MIT
#include "report/escape.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem::report {
namespace {

/// What a reader of RFC 4180 makes of one record.
std::vector<std::string> parse_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

TEST(Escape, CleanLinesAreValidUtf8WithoutControls) {
  EXPECT_EQ(clean_line("a\nb\tc\x1b[0m\x7f"), "a b c [0m ");
  EXPECT_EQ(clean_text("a\nb\tc\r"), "a\nb\tc ");
  EXPECT_EQ(clean_line("größe λ 𝛼"), "größe λ 𝛼");
  EXPECT_EQ(clean_line("\xC3"), "\xEF\xBF\xBD");                       // cut short
  EXPECT_EQ(clean_line("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // overlong
  EXPECT_EQ(clean_line("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(clean_line("\xEF\xBF\xBF").substr(0, 3), "\xEF\xBF\xBD");  // not in XML
  EXPECT_EQ(clean_line("\xC2\x9B"
                       "31m"),
            " 31m");  // a terminal's CSI
}

TEST(Escape, ShortensByCharacters) {
  EXPECT_EQ(shortened("größe", 5), "größe");
  EXPECT_EQ(shortened("größer", 5), "größ…");
  EXPECT_EQ(characters("größ…"), 5U);
}

TEST(Escape, HtmlHasNoTagsOrQuotes) {
  EXPECT_EQ(html_escaped("<script>alert(\"1\" & '2')</script>"),
            "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
}

TEST(Escape, MarkdownHasOneCell) {
  EXPECT_EQ(markdown_escaped("a|b\\|c\nd<b>"), "a\\|b\\\\\\|c d&lt;b>");
}

TEST(Escape, LatexHasNoCommands) {
  EXPECT_EQ(latex_escaped("a_b & 5% of #1 {x} $y$"), "a\\_b \\& 5\\% of \\#1 \\{x\\} \\$y\\$");
  EXPECT_EQ(latex_escaped("\\input{x}~^"),
            "\\textbackslash{}input\\{x\\}\\textasciitilde{}\\textasciicircum{}");
  EXPECT_EQ(latex_escaped("ρ ± λ"), "$\\rho$ $\\pm$ $\\lambda$");
  EXPECT_EQ(latex_escaped("--html"), "-{}-html");
  EXPECT_EQ(latex_escaped("-0.5"), "$-$0.5");
  EXPECT_EQ(latex_escaped("diag-to"), "diag-to");
  EXPECT_EQ(latex_escaped("a\nb"), "a b");
}

TEST(Escape, CsvComesBack) {
  const std::vector<std::string> cells = {"plain", "a,b",   "say \"x\"", "two\r\nlines", "",
                                          " in ",  "größe", "\"",        ",\",\n"};
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_field(cell);
  EXPECT_EQ(parse_csv(line), cells);
  EXPECT_EQ(csv_field("plain"), "plain");
}

TEST(Escape, GnuplotStringsHaveNothingThatMeansAnything) {
  for (const std::string& text :
       {std::string("a\"; system(\"touch x\")"), std::string("`touch x`"), std::string("a\nb"),
        std::string("\\"), std::string("'"), std::string("@macro $data {/Bold x}_1^2 %d #")}) {
    const std::string written = gnuplot_string(text);
    const std::string inside = written.substr(1, written.size() - 2);
    EXPECT_EQ(inside.find_first_of("\"`\n'@${}_^%#"), std::string::npos) << written;
    // Each backslash starts an octal number.
    for (std::size_t at = 0; (at = inside.find('\\', at)) != std::string::npos; at += 5) {
      EXPECT_GE(inside.find_first_not_of("01234567", at + 1), at + 5) << written;
    }
  }
  EXPECT_EQ(gnuplot_string("a_b"), "\"a\\0137b\"");
}

}  // namespace
}  // namespace tandem::report
