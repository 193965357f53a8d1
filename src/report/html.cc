// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "base/atomic_file.h"
#include "report/escape.h"
#include "report/render.h"
#include "report/svg.h"

namespace tandem::report {
namespace {

// Figures are dark on white in both schemes: their colours are chosen for white.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --page: #fff; --line: #d0d7de;
  --band: #f6f8fa; --link: #0060a8; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --soft: #9aa4af; --page: #14171a;
  --line: #3a4149; --band: #1e2328; --link: #7cc0f5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 88rem; color: var(--text);
  background: var(--page); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica,
  Arial, "Liberation Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 2.5rem 0 .5rem; padding-top: 1rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
p { max-width: 48rem; overflow-wrap: anywhere; }
a { color: var(--link); }
nav ul { padding-left: 1.2rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { text-align: left; padding: .3rem .8rem; white-space: nowrap; font-weight: normal; }
.right { text-align: right; }
thead th { font-weight: 600; border-top: 2px solid var(--text);
  border-bottom: 1px solid var(--text); }
tbody tr:last-child > * { border-bottom: 2px solid var(--text); }
tbody tr:hover > * { background: var(--band); }
.figures { display: grid; gap: 1.25rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 36rem), 1fr)); }
figure { margin: 0; padding: .75rem; background: #fff; color: #1b1f24;
  border: 1px solid var(--line); border-radius: 6px; }
figure svg { display: block; width: 100%; height: auto; max-width: 60rem; }
figcaption { font-size: .87rem; line-height: 1.45; color: #444c56; margin-top: .5rem;
  overflow-wrap: anywhere; }
pre { background: var(--band); border: 1px solid var(--line); border-radius: 6px;
  padding: .75rem 1rem; overflow-x: auto; font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
@media print {
  :root { color-scheme: light; --text: #000; --soft: #333; --page: #fff; --line: #bbb;
    --band: #fff; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  nav { display: none; }
  h2 { break-after: avoid; }
  figure, tr, pre { break-inside: avoid; }
  figure { border: 0; padding: 0; }
  .figures { grid-template-columns: 1fr 1fr; }
  .wide { overflow: visible; }
  th, td { white-space: normal; padding: .2rem .5rem; }
  pre { white-space: pre-wrap; }
}
)";

std::string paragraphs(const std::string& text) {
  std::string html;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\n\n"), rest.size());
    const std::string_view paragraph = rest.substr(0, end);
    if (paragraph.find_first_not_of(" \n\t\r") != std::string_view::npos) {
      html += fmt::format("<p>{}</p>\n", html_escaped(paragraph));
    }
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return html;
}

std::string figure_html(const Figure& figure, const Picture& picture) {
  const std::string drawn =
      picture.svg.empty()
          ? "<p>" + html_escaped(figure.title + ": not drawn. " + NoGnuplot().what()) + "</p>\n"
          : inline_svg(picture.svg, alt_text(figure));
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", drawn,
                     html_escaped(full_caption(figure)));
}

std::string section_html(const Section& section, std::size_t number, const Picture* pictures) {
  std::string html = fmt::format("<section id=\"section-{}\">\n<h2>{}</h2>\n{}", number,
                                 html_escaped(section.title), paragraphs(section.text));
  for (const CaptionedTable& table : section.tables) {
    html += "<div class=\"wide\">\n" + table.table.html(table.caption) + "</div>\n";
  }
  if (!section.figures.empty()) {
    html += "<div class=\"figures\">\n";
    for (const Figure& figure : section.figures) html += figure_html(figure, *pictures++);
    html += "</div>\n";
  }
  return html + "</section>\n";
}

std::string contents_html(const Document& document) {
  if (document.sections.size() < 2) return {};
  std::string html = "<nav aria-label=\"Contents\">\n<ul>\n";
  for (std::size_t i = 0; i < document.sections.size(); ++i) {
    html += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i + 1,
                        html_escaped(document.sections[i].title));
  }
  return html + "</ul>\n</nav>\n";
}

std::string origin_html(const Document& document) {
  if (document.commands.empty() && document.facts.empty()) return {};
  std::string html = "<section id=\"origin\">\n<h2>How this was made</h2>\n";
  if (!document.commands.empty()) {
    html += "<pre><code>";
    for (const std::string& command : document.commands) html += html_escaped(command) + "\n";
    html += "</code></pre>\n";
  }
  if (!document.facts.empty()) {
    html += "<dl>\n";
    for (const auto& [name, value] : document.facts) {
      html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escaped(name), html_escaped(value));
    }
    html += "</dl>\n";
  }
  return html + "</section>\n";
}

}  // namespace

std::string html_body(const Document& document) {
  std::vector<Figure> figures;
  for (const Section& section : document.sections) {
    figures.insert(figures.end(), section.figures.begin(), section.figures.end());
  }
  // All of them in one process.
  const std::vector<Picture> pictures = !figures.empty() && figures_available()
                                            ? render(figures, {.svg = true, .png = false})
                                            : std::vector<Picture>(figures.size());
  std::string html =
      fmt::format("<header>\n<h1>{}</h1>\n{}</header>\n", html_escaped(clean_line(document.title)),
                  paragraphs(document.summary));
  html += contents_html(document) + "<main>\n";
  const Picture* next = pictures.data();
  for (std::size_t i = 0; i < document.sections.size(); ++i) {
    html += section_html(document.sections[i], i + 1, next);
    next += document.sections[i].figures.size();
  }
  return html + origin_html(document) + "</main>\n";
}

std::string html_page(const Document& document) {
  // The policy forbids what the page does not need, so that nothing in it could run.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"tandem\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_escaped(clean_line(document.title)), kStyle, html_body(document));
}

void write_html(const std::filesystem::path& path, const Document& document) {
  const std::string page = html_page(document);
  write_atomically(path, [&](std::ostream& stream) { stream << page; });
}

}  // namespace tandem::report
