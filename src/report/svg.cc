// SPDX-License-Identifier: MIT
#include "report/svg.h"

#include "report/escape.h"

namespace tandem::report {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// A tag, from '<' to '>'.
std::string tidy_tag(std::string_view tag, std::string_view prefix) {
  std::string text(tag);
  const std::string start(prefix);
  for (const char quote : {'\'', '"'}) {
    replace_all(text, std::string(" id=") + quote, std::string(" id=") + quote + start);
    replace_all(text, std::string("href=") + quote + '#',
                std::string("href=") + quote + '#' + start);
  }
  replace_all(text, "url(#", "url(#" + start);
  replace_all(text, "font-family=\"sans\"",
              "font-family=\"Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif\"");
  return text;
}

}  // namespace

std::string tidy_svg(std::string_view svg, std::string_view prefix, std::string_view title) {
  std::string result;
  bool titled = false;
  while (!svg.empty()) {
    if (svg.front() != '<') {
      std::string text(svg.substr(0, svg.find('<')));
      svg.remove_prefix(text.size());
      replace_all(text, ">", "&gt;");
      result += text;
      continue;
    }
    if (svg.starts_with("<title>")) {
      constexpr std::string_view kEnd = "</title>";
      const std::size_t end = svg.find(kEnd);
      svg.remove_prefix(end == std::string_view::npos ? svg.size() : end + kEnd.size());
      // The first is the picture's; the others are tooltips that name gnuplot's own numbers.
      if (!titled) result += "<title>" + html_escaped(clean_line(title)) + "</title>";
      titled = true;
      continue;
    }
    const std::string_view tag = svg.substr(0, svg.find('>') + 1);
    if (tag.empty()) break;  // cut short: nothing more to keep
    result += tidy_tag(tag, prefix);
    svg.remove_prefix(tag.size());
  }
  return result;
}

std::string inline_svg(std::string_view svg, std::string_view label) {
  const std::size_t start = svg.find("<svg");
  if (start == std::string_view::npos) return {};
  svg.remove_prefix(start + 4);
  return "<svg role=\"img\" aria-label=\"" + html_escaped(clean_line(label)) + "\"" +
         std::string(svg);
}

}  // namespace tandem::report
