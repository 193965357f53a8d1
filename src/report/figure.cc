// SPDX-License-Identifier: MIT
#include "report/figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "report/escape.h"

namespace tandem::report {
namespace {

// Beyond these gnuplot's own arithmetic on axes leaves the range of a double.
constexpr double kLargest = 1e200;
constexpr double kSmallest = 1e-200;

bool drawable(double value) { return std::abs(value) <= kLargest; }  // false for NaN

void check(const Series& series) {
  const auto same = [&](const std::vector<double>& values) {
    return values.size() == series.x.size();
  };
  const bool band = !series.low.empty() || !series.high.empty();
  if (same(series.y) && (!band || (same(series.low) && same(series.high)))) return;
  throw std::invalid_argument(fmt::format(
      "Invalid series '{}' of a figure: x, y, low, high have {}, {}, {}, {} values, expected as "
      "many of each as of x, or no low and high",
      series.label, series.x.size(), series.y.size(), series.low.size(), series.high.size()));
}

void push(Series& series, double x, double y, double low, double high) {
  series.x.push_back(x);
  series.y.push_back(y);
  if (std::isnan(low)) return;  // no band
  series.low.push_back(low);
  series.high.push_back(high);
}

/// The points that can be drawn; a band that cannot is as wide as the line.
Series finite_part(const Series& series, const Axis& x_axis, std::size_t& not_finite,
                   std::size_t& no_place) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Series part{.label = series.label, .x = {}, .y = {}, .style = series.style};
  const bool band = !series.low.empty();
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double x = series.x[i];
    const double y = series.y[i];
    if (!drawable(x) || !drawable(y)) {
      ++not_finite;
    } else if (x_axis.scale == Scale::log && x < kSmallest) {
      ++no_place;
    } else if (band) {
      const bool drawn = drawable(series.low[i]) && drawable(series.high[i]);
      push(part, x, y, drawn ? series.low[i] : y, drawn ? series.high[i] : y);
    } else {
      push(part, x, y, kNone, kNone);
    }
  }
  return part;
}

/// Two points a stretch: its smallest and its largest y, in their order, with the stretch's band.
Series thinned(const Series& series) {
  const std::size_t count = series.x.size();
  if (count <= kMaxPoints) return series;
  Series part{.label = series.label, .x = {}, .y = {}, .style = series.style};
  constexpr std::size_t kStretches = kMaxPoints / 2;
  for (std::size_t stretch = 0; stretch < kStretches; ++stretch) {
    const std::size_t begin = stretch * count / kStretches;
    const std::size_t end = (stretch + 1) * count / kStretches;
    const auto at = [&](std::size_t i) { return series.y.begin() + static_cast<long>(i); };
    const auto [low, high] = std::minmax_element(at(begin), at(end));
    auto first = static_cast<std::size_t>(low - series.y.begin());
    auto second = static_cast<std::size_t>(high - series.y.begin());
    if (first > second) std::swap(first, second);
    // A series keeps its ends.
    if (stretch == 0) first = 0;
    if (stretch + 1 == kStretches) second = count - 1;
    double band_low = std::numeric_limits<double>::quiet_NaN();
    double band_high = band_low;
    if (!series.low.empty()) {
      const auto b = static_cast<long>(begin);
      const auto e = static_cast<long>(end);
      band_low = *std::min_element(series.low.begin() + b, series.low.begin() + e);
      band_high = *std::max_element(series.high.begin() + b, series.high.begin() + e);
    }
    push(part, series.x[first], series.y[first], band_low, band_high);
    if (second != first) push(part, series.x[second], series.y[second], band_low, band_high);
  }
  return part;
}

/// Raises what is not positive to the smallest positive value, and counts the points of lines that
/// are raised; no such value: nothing can be drawn.
void raise_to_floor(std::vector<Series>& all, std::size_t& raised, double& floor) {
  floor = std::numeric_limits<double>::infinity();
  for (const Series& series : all) {
    for (const auto* values : {&series.y, &series.low, &series.high}) {
      for (const double value : *values) {
        if (value >= kSmallest) floor = std::min(floor, value);
      }
    }
  }
  for (Series& series : all) {
    if (!std::isfinite(floor)) {
      raised += series.y.size();
      series = {.label = series.label, .x = {}, .y = {}, .style = series.style};
    }
    for (double& value : series.y) {
      raised += value < kSmallest ? 1 : 0;
      value = std::max(value, floor);
    }
    for (double& value : series.low) value = std::max(value, floor);
    for (double& value : series.high) value = std::max(value, floor);
  }
}

/// The same colour everywhere, but not the same look twice in one figure. Known methods choose
/// first.
void tell_apart(std::vector<Series>& all) {
  std::vector<Series*> order;
  for (Series& series : all) order.push_back(&series);
  std::stable_partition(order.begin(), order.end(), [](const Series* series) {
    return series->style.has_value() || is_known(series->label);
  });
  std::vector<Style> taken;
  for (Series* series : order) {
    Style style = series->style.value_or(style_of(series->label));
    const auto is_taken = [&] { return std::count(taken.begin(), taken.end(), style) > 0; };
    for (int tries = 0; tries < kDashes && is_taken(); ++tries) {
      style.dash = (style.dash + 1) % kDashes;
    }
    taken.push_back(style);
    series->style = style;
  }
}

void find_ranges(Drawing& drawing) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double x_min = kInfinity, x_max = -kInfinity, y_min = kInfinity, y_max = -kInfinity;
  const auto widen = [](const std::vector<double>& values, double& min, double& max) {
    for (const double value : values) {
      min = std::min(min, value);
      max = std::max(max, value);
    }
  };
  for (const Series& series : drawing.series) {
    widen(series.x, x_min, x_max);
    widen(series.y, y_min, y_max);
    widen(series.low, y_min, y_max);
    widen(series.high, y_min, y_max);
  }
  drawing.empty = x_min > x_max;
  if (drawing.empty) return;
  drawing.x_min = x_min;
  drawing.x_max = x_max;
  drawing.y_min = y_min;
  drawing.y_max = y_max;
}

std::string points(std::size_t count) {
  return fmt::format("{} point{}", count, count == 1 ? "" : "s");
}

}  // namespace

Drawing drawing_of(const Figure& figure) {
  Drawing drawing;
  std::size_t not_finite = 0;
  std::size_t no_place = 0;
  std::size_t raised = 0;
  double floor = 0;
  for (const Series& series : figure.series) {
    check(series);
    drawing.series.push_back(finite_part(series, figure.x, not_finite, no_place));
  }
  if (figure.y.scale == Scale::log) raise_to_floor(drawing.series, raised, floor);
  for (Series& series : drawing.series) series = thinned(series);
  tell_apart(drawing.series);
  find_ranges(drawing);

  std::vector<std::string> notes;
  if (not_finite > 0) notes.push_back(points(not_finite) + " without a finite value left out.");
  if (no_place > 0) {
    notes.push_back(points(no_place) + " at or below zero left out of the logarithmic x axis.");
  }
  if (raised > 0 && std::isfinite(floor)) {
    notes.push_back(fmt::format("{} at or below zero drawn at {:.2g}, the smallest positive value.",
                                points(raised), floor));
  } else if (raised > 0) {
    notes.emplace_back("No value is above zero, as a logarithmic axis needs.");
  }
  drawing.notes = fmt::format("{}", fmt::join(notes, " "));
  return drawing;
}

std::string full_caption(const Figure& figure) {
  const std::string notes = drawing_of(figure).notes;
  return figure.caption + (figure.caption.empty() || notes.empty() ? "" : " ") + notes;
}

std::string alt_text(const Figure& figure) {
  std::vector<std::string> labels;
  for (const Series& series : figure.series) labels.push_back(series.label);
  const auto axis = [](const Axis& a) {
    return a.label + (a.scale == Scale::log ? ", logarithmic" : "");
  };
  return clean_line(
      fmt::format("{}: {} against {}; {}", figure.title, axis(figure.y), axis(figure.x),
                  labels.empty() ? "no data" : fmt::format("{}", fmt::join(labels, ", "))));
}

}  // namespace tandem::report
