// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "report/render.h"
#include "tests/temp_folder.h"

namespace tandem::report {
namespace {

Document example(const std::string& text) {
  Table table({{text}, {"rho", Table::Align::right}});
  table.add({text, "0.9"});
  const Figure figure{.name = text,
                      .title = text,
                      .x = {"epoch"},
                      .y = {text},
                      .series = {{.label = text, .x = {0, 1}, .y = {1, 0}}},
                      .caption = text};
  Section section{.title = text, .text = text + "\n\nsecond"};
  section.tables = {{table, text}};
  section.figures = {figure, figure};
  return {.title = text,
          .summary = text,
          .sections = {section, section},
          .commands = {"tandem study " + text},
          .facts = {{"machine", text}}};
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) {
    ++found;
  }
  return found;
}

TEST(Html, EscapesEverything) {
  const std::string page = html_page(example("<script>alert('x')</script>\"&"));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_GE(count(page, "&lt;script&gt;"), 15U);
}

TEST(Html, NeedsNothingElse) {
  const std::string page = html_page(example("plain"));
  static const std::regex outside("(src|href)=[\"'](?!#)");
  EXPECT_FALSE(std::regex_search(page, outside));
  EXPECT_EQ(page.find("@import"), std::string::npos);
  EXPECT_EQ(count(page, "<h1>"), 1U);
  EXPECT_EQ(count(page, "<h2>"), 3U);
  EXPECT_EQ(count(page, "<p>second</p>"), 2U);
  EXPECT_EQ(count(page, "<figcaption>"), 4U);
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(page.find("@media print"), std::string::npos);
  EXPECT_NE(page.find("tandem study plain"), std::string::npos);
}

TEST(Html, IdsAreUnique) {
  if (!figures_available()) GTEST_SKIP() << "gnuplot was not found; Debian: gnuplot-nox";
  const std::string page = html_page(example("plain"));
  EXPECT_EQ(count(page, "<svg role=\"img\" aria-label=\""), 4U);
  EXPECT_EQ(page.find("<?xml"), std::string::npos);
  static const std::regex id(" id=['\"]([^'\"]*)['\"]");
  std::set<std::string> ids;
  for (std::sregex_iterator at(page.begin(), page.end(), id), end; at != end; ++at) {
    EXPECT_TRUE(ids.insert((*at)[1]).second) << (*at)[1];
  }
  EXPECT_GT(ids.size(), 4U);
}

TEST(Html, SaysWhyThereAreNoFigures) {
  const std::string before = std::getenv("PATH");
  setenv("PATH", "", 1);
  const std::string page = html_page(example("plain"));
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(count(page, "gnuplot-nox"), 4U);
  EXPECT_EQ(page.find("<svg"), std::string::npos);
}

TEST(Html, WritesAFile) {
  const tests::TempFolder folder;
  const auto path = folder / "page.html";
  write_html(path, {.title = "empty"});
  std::ifstream stream(path);
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0U);
  EXPECT_NE(page.find("</html>\n"), std::string::npos);
  EXPECT_THROW(write_html(path / "missing" / "x.html", {.title = "x"}), std::runtime_error);
}

}  // namespace
}  // namespace tandem::report
