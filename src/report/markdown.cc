// SPDX-License-Identifier: MIT
#include "report/markdown.h"

#include <fmt/format.h>

#include <sstream>

#include "report/escape.h"

namespace tandem::report {
namespace {

/// Paragraphs stay paragraphs; nothing in them starts a tag or a cell.
std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream stream(clean_text(text));
  for (std::string line; std::getline(stream, line);) out += markdown_escaped(line) + "\n";
  return out.empty() ? out : out + "\n";
}

}  // namespace

std::string markdown_page(const Document& document, bool with_figures) {
  std::string page = fmt::format("# {}\n\n", markdown_escaped(document.title));
  page += paragraphs(document.summary);
  for (const std::string& command : document.commands) {
    page += fmt::format("    {}\n", clean_line(command));
  }
  if (!document.commands.empty()) page += "\n";
  for (const auto& [name, value] : document.facts) {
    page += fmt::format("- {}: {}\n", markdown_escaped(name), markdown_escaped(value));
  }
  if (!document.facts.empty()) page += "\n";
  for (const Section& section : document.sections) {
    page += fmt::format("## {}\n\n", markdown_escaped(section.title));
    page += paragraphs(section.text);
    for (const CaptionedTable& table : section.tables) {
      if (!table.caption.empty()) page += markdown_escaped(table.caption) + ":\n\n";
      page += table.table.markdown() + "\n";
    }
    for (const Figure& figure : section.figures) {
      if (with_figures) page += fmt::format("![{}]({}.svg)\n\n", alt_text(figure), figure.name);
      page += with_figures ? paragraphs(full_caption(figure)) : "";
    }
    if (!section.figures.empty() && !with_figures) page += "No figures: gnuplot was not found.\n\n";
  }
  return page;
}

}  // namespace tandem::report
