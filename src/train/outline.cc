// SPDX-License-Identifier: MIT
#include "train/outline.h"

#include <cmath>
#include <cstddef>

namespace tandem::train {
namespace {

void mark(std::vector<bool>& marks, std::span<const Point> points, double Point::*loss) {
  std::size_t least = points.size();
  std::size_t broken = points.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double value = points[i].*loss;
    if (!std::isfinite(value)) {
      if (broken == points.size()) broken = i;
    } else if (points[i].epoch > 0 && (least == points.size() || value < points[least].*loss)) {
      least = i;
    }
  }
  if (least < points.size()) marks[least] = true;
  if (broken < points.size()) marks[broken] = true;
}

}  // namespace

std::vector<bool> outline(std::span<const Point> points) {
  std::vector<bool> marks(points.size(), false);
  if (points.empty()) return marks;
  marks.front() = true;
  marks.back() = true;
  mark(marks, points, &Point::train_loss);
  mark(marks, points, &Point::data_loss);
  return marks;
}

}  // namespace tandem::train
