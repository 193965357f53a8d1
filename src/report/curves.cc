// SPDX-License-Identifier: MIT
#include "report/curves.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/printable.h"
#include "report/escape.h"
#include "report/gnuplot.h"
#include "report/gnuplot_script.h"
#include "report/terminal.h"

namespace tandem::report {
namespace {

/// The nearest of the 6 x 6 x 6 colours; black is left to the terminal, which may be black itself.
std::string coloured(std::string_view text, const Style& style, bool colour) {
  if (!colour || style.rgb == 0) return std::string(text);
  const auto level = [&](unsigned shift) { return ((style.rgb >> shift & 0xFFU) + 25) / 51; };
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", 16 + 36 * level(16) + 6 * level(8) + level(0), text);
}

std::string_view mark_of(std::size_t series) { return kMarks.substr(series % kMarks.size(), 1); }

/// Gnuplot's lines without the empty ones around and the spaces behind, marks coloured.
std::string body_text(std::string_view drawn, const Drawing& drawing, bool colour) {
  std::string text;
  while (!drawn.empty()) {
    const std::size_t end = std::min(drawn.find('\n'), drawn.size());
    std::string_view line = drawn.substr(0, end);
    drawn.remove_prefix(std::min(end + 1, drawn.size()));
    line = line.substr(0, line.find_last_not_of(" \f\r") + 1);
    if (line.empty()) continue;
    while (!line.empty()) {
      const std::size_t mark = kMarks.find(line.front());
      std::size_t run = 1;
      if (mark < drawing.series.size()) {  // npos is not
        run = std::min(line.find_first_not_of(line.front()), line.size());
        text += coloured(line.substr(0, run), *drawing.series[mark].style, colour);
      } else {
        text += line.front();
      }
      line.remove_prefix(run);
    }
    text += '\n';
  }
  return text;
}

std::string legend_text(const Drawing& drawing, std::size_t width, bool colour) {
  std::string text;
  std::size_t column = 0;
  for (std::size_t s = 0; s < drawing.series.size(); ++s) {
    const std::string label = shortened(visible_line(drawing.series[s].label), width - 8);
    const std::size_t room = characters(label) + 6;
    if (column > 0 && column + room > width) {
      text += '\n';
      column = 0;
    }
    const std::string mark(3, mark_of(s)[0]);
    text += fmt::format("{}{} {}", column == 0 ? "  " : "   ",
                        coloured(mark, *drawing.series[s].style, colour), label);
    column += room + (column == 0 ? 0 : 1);
  }
  return text.empty() ? text : text + '\n';
}

std::string centred(const std::string& text, std::size_t width) {
  const std::string line = shortened(text, width);
  return std::string((width - characters(line)) / 2, ' ') + line + '\n';
}

}  // namespace

TextOptions terminal_options() {
  TextOptions options;
  if (isatty(STDOUT_FILENO) == 0) return options;
  options.colour = std::getenv("NO_COLOR") == nullptr;
  const std::size_t width = terminal_width(STDOUT_FILENO);
  if (width > 0) options.width = static_cast<int>(std::min<std::size_t>(width - 1, 110));
  return options;
}

std::vector<std::string> render_text(const std::vector<Figure>& figures,
                                     const TextOptions& options) {
  if (figures.empty()) return {};
  const int width = std::clamp(options.width, 40, 500);
  const int height = std::clamp(options.height, 12, 200);
  const auto room = static_cast<std::size_t>(width);
  std::string script;
  std::vector<std::string> files;
  std::vector<Drawing> drawings;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    files.push_back(fmt::format("{}.txt", i));
    drawings.push_back(drawing_of(figures[i]));
    // Our four lines around it are two more than the empty ones that gnuplot leaves.
    script += data_script(drawings[i], i) +
              text_script(figures[i], drawings[i], i, files[i], width, height - 2);
  }
  std::vector<std::string> texts = run_gnuplot(script, files);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto axis = [](const Axis& a) {
      return visible_line(a.label) + (a.scale == Scale::log ? " (logarithmic)" : "");
    };
    texts[i] = shortened(visible_line(figures[i].title), room) + '\n' +
               shortened(axis(figures[i].y), room) + '\n' +
               body_text(texts[i], drawings[i], options.colour) +
               centred(axis(figures[i].x), room) + legend_text(drawings[i], room, options.colour);
  }
  return texts;
}

}  // namespace tandem::report
