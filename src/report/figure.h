// SPDX-License-Identifier: MIT
// A figure as a value: what it shows, not how it is drawn. render.h draws it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/palette.h"

namespace tandem::report {

enum class Scale { linear, log };

struct Axis {
  std::string label;  // with the unit
  Scale scale = Scale::linear;
};

/// A curve. `low` and `high`, both or neither, are a band around it.
struct Series {
  std::string label;
  std::vector<double> x, y, low = {}, high = {};
  std::optional<Style> style = {};  // style_of(label) where there is none
};

struct Figure {
  std::string name;  // of its files, without an ending
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::string caption;
  std::optional<double> level = {};  // a thin line across, such as 1 for a ratio
};

/// A figure's points as they are drawn.
struct Drawing {
  std::vector<Series>
      series;  // finite, at most kMaxPoints each; those without points are there too
  double x_min = 0, x_max = 1, y_min = 0, y_max = 1;  // of points and bands
  bool empty = true;
  std::string notes;  // what was changed for drawing, in sentences; empty where nothing was
};

/// More points than a figure has pixels make no difference.
inline constexpr std::size_t kMaxPoints = 2000;

/// Leaves out points that are not finite or have no place on a logarithmic x axis; draws values of
/// zero and below at the smallest positive one where y is logarithmic; keeps the smallest and the
/// largest of each stretch of a long series; gives series of one figure different dashes where
/// they would look the same. Throws std::invalid_argument naming a series whose vectors differ in
/// length.
Drawing drawing_of(const Figure& figure);

/// The caption with the notes of its drawing.
std::string full_caption(const Figure& figure);
/// A sentence for those who do not see the figure.
std::string alt_text(const Figure& figure);

}  // namespace tandem::report
