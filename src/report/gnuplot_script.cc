// SPDX-License-Identifier: MIT
#include "report/gnuplot_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "report/escape.h"

namespace tandem::report {
namespace {

// The layout in pixels; everything grows with the legend, the curves keep their size.
constexpr int kLeft = 94;
constexpr int kPlotWidth = 500;
constexpr int kTop = 46;
constexpr int kPlotHeight = 290;
constexpr int kBottom = 58;
constexpr int kLegendRow = 20;
constexpr double kCharacter = 8.2;  // the mean width of a letter of the font
constexpr std::size_t kLegendCharacters = 48;

struct Layout {
  int width, height;
};

Layout layout_of(const Drawing& drawing) {
  std::size_t longest = 8;
  for (const Series& series : drawing.series) {
    longest = std::max(longest, characters(clean_line(series.label)));
  }
  longest = std::min(longest, kLegendCharacters);
  const int legend = 80 + static_cast<int>(kCharacter * static_cast<double>(longest));
  const int rows = kLegendRow * static_cast<int>(drawing.series.size());
  return {kLeft + kPlotWidth + legend, kTop + std::max(kPlotHeight, rows) + kBottom};
}

std::string superscript(int number) {
  constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴",
                                                        "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = number < 0 ? "⁻" : "";
  for (const char digit : fmt::format("{}", std::abs(number))) {
    text += kDigits[static_cast<std::size_t>(digit - '0')];
  }
  return text;
}

/// About five round values in a range that is narrow for its place.
std::string linear_tics(double min, double max) {
  const double rough = (max - min) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double times = rough / power;
  const double step = power * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
  std::vector<std::string> tics;
  for (double at = std::ceil(min / step); at * step <= max && tics.size() < 20; ++at) {
    const double value = at * step;
    tics.push_back(fmt::format("{} {:.17g}", gnuplot_string(fmt::format("{:.9g}", value)), value));
  }
  return fmt::format("({})", fmt::join(tics, ", "));
}

/// Powers of ten where there are enough of them, else 1, 2, 5; at most about ten of them.
std::string log_tics(double min, double max) {
  const int first = static_cast<int>(std::floor(std::log10(min)));
  const int last = static_cast<int>(std::ceil(std::log10(max)));
  std::vector<std::string> tics;
  const bool powers = std::log10(max) - std::log10(min) > 2.5;
  const bool plain = min >= 0.0009 && max < 99999;
  const int stride = std::max(1, (last - first + 9) / 10);
  for (int power = first; power <= last; ++power) {
    for (const int times : {1, 2, 5}) {
      const double value = times * std::pow(10.0, power);
      if (value < min * 0.999 || value > max * 1.001 || (powers && times != 1)) continue;
      const bool named = !powers || power % stride == 0;
      const std::string name =
          plain ? fmt::format("{:g}", value)
                : (times == 1 ? "10" : fmt::format("{}·10", times)) + superscript(power);
      tics.push_back(named ? fmt::format("{} {:.6g}", gnuplot_string(name), value)
                           : fmt::format("{} {:.6g} 1", gnuplot_string(""), value));
    }
    for (int times = 2; powers && stride == 1 && times < 10; ++times) {
      const double value = times * std::pow(10.0, power);
      if (value < min || value > max) continue;
      tics.push_back(fmt::format("{} {:.6g} 1", gnuplot_string(""), value));
    }
  }
  return tics.size() < 3 ? linear_tics(min, max) : fmt::format("({})", fmt::join(tics, ", "));
}

struct Range {
  double min, max;
};

/// The axis a little beyond the values; never empty.
Range padded(double min, double max, Scale scale, double share) {
  if (scale == Scale::log) {
    const double factor =
        min == max ? 2 : std::pow(10.0, (std::log10(max) - std::log10(min)) * share);
    return {min / factor, max * factor};
  }
  const double pad = min == max ? (min == 0 ? 1 : std::abs(min) * 0.1) : (max - min) * share;
  return {min - pad, max + pad};
}

std::string axis_script(char name, const Axis& axis, Range range, bool empty) {
  const std::string script =
      fmt::format("set {}range [{:.17g}:{:.17g}]\n", name, range.min, range.max);
  if (empty) return script + fmt::format("unset {}tics\n", name);
  if (axis.scale == Scale::log) {
    return script + fmt::format("set logscale {0}\nset {0}tics {1} nomirror\n", name,
                                log_tics(range.min, range.max));
  }
  return script + fmt::format("set format {0} \"%g\"\nset {0}tics autofreq nomirror\n", name);
}

/// Axes without their labels, which are placed by those who know the medium.
std::string frame_script(const Figure& figure, const Drawing& drawing) {
  Axis x = figure.x;
  Axis y = figure.y;
  if (drawing.empty) x.scale = y.scale = Scale::linear;
  double y_min = drawing.y_min;
  double y_max = drawing.y_max;
  const bool level = figure.level && (y.scale == Scale::linear || *figure.level > 0);
  if (level && !drawing.empty) {
    y_min = std::min(y_min, *figure.level);
    y_max = std::max(y_max, *figure.level);
  }
  std::string script =
      axis_script('x', x, padded(drawing.x_min, drawing.x_max, x.scale, 0), drawing.empty);
  script += axis_script('y', y, padded(y_min, y_max, y.scale, 0.04), drawing.empty);
  if (level) {
    script += fmt::format(
        "set arrow from graph 0, first {0:.9g} to graph 1, first {0:.9g} nohead back lw 1 lc rgb "
        "\"#808080\"\n",
        *figure.level);
  }
  if (drawing.empty) {
    script += "set label 2 \"no data\" at graph 0.5, graph 0.5 center tc rgb \"#606060\"\n";
  }
  return script;
}

std::string colour_of(const Style& style) { return fmt::format("rgb \"#{:06X}\"", style.rgb); }

std::string plot_command(const std::vector<std::string>& parts) {
  return parts.empty() ? "plot NaN notitle\n"
                       : fmt::format("plot {}\n", fmt::join(parts, ", \\\n  "));
}

std::string plot_script(const Drawing& drawing, std::size_t index) {
  std::vector<std::string> parts;
  for (std::size_t s = 0; s < drawing.series.size(); ++s) {
    const Series& series = drawing.series[s];
    if (series.low.empty()) continue;
    parts.push_back(fmt::format(
        "$d{}_{} using 1:3:4 with filledcurves fs transparent solid 0.14 noborder lc {} notitle",
        index, s, colour_of(*series.style)));
  }
  for (std::size_t s = 0; s < drawing.series.size(); ++s) {
    const Series& series = drawing.series[s];
    const std::string look =
        series.x.size() == 1
            ? fmt::format("points pt 7 ps 0.7 lc {}", colour_of(*series.style))
            : fmt::format("lines lw 2 dt {} lc {}", dash_pattern(series.style->dash),
                          colour_of(*series.style));
    if (series.x.empty()) continue;
    parts.push_back(fmt::format("$d{}_{} using 1:2 with {} notitle", index, s, look));
  }
  return plot_command(parts);
}

/// Our own legend: gnuplot's drops series that it has no room for, and has other sizes in an SVG
/// than in a PNG.
std::string legend_script(const Drawing& drawing, const Layout& layout) {
  const double width = layout.width;
  const double left = kLeft + kPlotWidth + 18;
  std::string script;
  for (std::size_t s = 0; s < drawing.series.size(); ++s) {
    const Series& series = drawing.series[s];
    const double y = 1 - (kTop + 4 + kLegendRow * static_cast<double>(s)) / layout.height;
    script +=
        fmt::format("set label {} {} at screen {:.5f}, screen {:.5f} left noenhanced\n", 100 + s,
                    gnuplot_string(shortened(clean_line(series.label), kLegendCharacters)),
                    (left + 42) / width, y);
    const std::string colour = colour_of(*series.style);
    script += series.x.size() == 1
                  ? fmt::format(
                        "set label {} \"\" at screen {:.5f}, screen {:.5f} point pt 7 ps 0.7 "
                        "lc {}\n",
                        100 + drawing.series.size() + s, (left + 17) / width, y, colour)
                  : fmt::format(
                        "set arrow from screen {:.5f}, screen {:.5f} to screen {:.5f}, screen "
                        "{:.5f} nohead lw 2 dt {} lc {}\n",
                        left / width, y, (left + 34) / width, y, dash_pattern(series.style->dash),
                        colour);
  }
  return script;
}

std::string picture_frame(const Figure& figure, const Drawing& drawing, const Layout& layout) {
  const double width = layout.width;
  const double height = layout.height;
  const double right = (kLeft + kPlotWidth) / width;
  const double top = 1 - kTop / height;
  std::string script = fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n"
      "set tmargin at screen {:.5f}\n",
      kLeft / width, right, kBottom / height, top);
  script += "unset key\n" + legend_script(drawing, layout);
  script +=
      "set border 3 lw 1 lc rgb \"#404040\"\nset tics out scale 0.5, 0.25 tc rgb \"#202020\"\n"
      "set grid xtics ytics lt 1 lw 0.5 lc rgb \"#DDDDDD\"\n";
  // Gnuplot would move the labels of axes with the sizes of the numbers, off the picture.
  script += fmt::format(
      "set label 3 {} at screen {:.5f}, graph 0.5 center rotate by 90 noenhanced\n"
      "set label 4 {} at graph 0.5, screen {:.5f} center noenhanced\n",
      gnuplot_string(shortened(clean_line(figure.y.label), 44)), 17 / width,
      gnuplot_string(shortened(clean_line(figure.x.label), 60)), 15 / height);
  return script + frame_script(figure, drawing);
}

/// The sizes of fonts mean pixels in an SVG and points in a PNG.
std::string title_script(const Figure& figure, const Layout& layout, int size) {
  const auto room = static_cast<std::size_t>((layout.width - kLeft) / 8.2);
  return fmt::format("set label 1 {} at graph 0, screen {:.5f} left noenhanced font \",{}\"\n",
                     gnuplot_string(shortened(clean_line(figure.title), room)),
                     1 - 22.0 / layout.height, size);
}

}  // namespace

std::string data_script(const Drawing& drawing, std::size_t index) {
  std::string script;
  for (std::size_t s = 0; s < drawing.series.size(); ++s) {
    const Series& series = drawing.series[s];
    if (series.x.empty()) continue;
    script += fmt::format("$d{}_{} << END\n", index, s);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      script += fmt::format("{:.9g} {:.9g}", series.x[i], series.y[i]);
      if (!series.low.empty())
        script += fmt::format(" {:.9g} {:.9g}", series.low[i], series.high[i]);
      script += '\n';
    }
    script += "END\n";
  }
  return script;
}

std::string picture_script(const Figure& figure, const Drawing& drawing, std::size_t index,
                           const std::string& svg, const std::string& png) {
  const Layout layout = layout_of(drawing);
  std::string script = "reset\nset encoding utf8\n" + picture_frame(figure, drawing, layout);
  const std::string plot = plot_script(drawing, index);
  if (!svg.empty()) {
    script += title_script(figure, layout, 15);
    script += fmt::format(
        "set terminal svg noenhanced size {},{} fixed font \"sans,13\" background \"#FFFFFF\"\n"
        "set output \"{}\"\n{}unset output\n",
        layout.width, layout.height, svg, plot);
  }
  if (!png.empty()) {
    // Twice the resolution: twice the pixels, with fonts and lines that grow along.
    script += title_script(figure, layout, 11);
    script += fmt::format(
        "set terminal pngcairo noenhanced size {},{} font \"sans,10\" fontscale 2 linewidth 2 "
        "pointscale 2 background \"#FFFFFF\"\nset output \"{}\"\n{}unset output\n",
        2 * layout.width, 2 * layout.height, png, plot);
  }
  return script;
}

std::string text_script(const Figure& figure, const Drawing& drawing, std::size_t index,
                        const std::string& file, int width, int height) {
  std::string script = "reset\nset encoding utf8\nunset key\n" + frame_script(figure, drawing);
  script += fmt::format("set terminal dumb noenhanced size {},{} aspect 1 mono\n", width, height);
  std::vector<std::string> parts;
  for (std::size_t s = 0; s < drawing.series.size(); ++s) {
    if (drawing.series[s].x.empty()) continue;
    parts.push_back(
        fmt::format("$d{}_{} using 1:2 with lines lt {} notitle", index, s, 1 + s % kMarks.size()));
  }
  return script + fmt::format("set output \"{}\"\n{}unset output\n", file, plot_command(parts));
}

}  // namespace tandem::report
