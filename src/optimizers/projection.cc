// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tandem/projection.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "optimizers/text.h"

namespace tandem {

Projection Projection::ball(double radius) {
  if (!(std::isfinite(radius) && radius > 0)) {
    throw std::invalid_argument(
        fmt::format("Invalid radius of a ball: {}, expected a finite number > 0", radius));
  }
  Projection projection;
  projection.kind_ = Kind::ball;
  projection.high_ = radius;
  return projection;
}

Projection Projection::box(double low, double high) {
  if (!(low <= high)) {
    throw std::invalid_argument(
        fmt::format("Invalid box: from {} to {}, expected the lower bound first", low, high));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (low == kInfinity || high == -kInfinity) {
    throw std::invalid_argument(
        fmt::format("Invalid box: from {} to {}, expected finite numbers in it", low, high));
  }
  Projection projection;
  projection.kind_ = Kind::box;
  projection.low_ = low;
  projection.high_ = high;
  return projection;
}

Projection Projection::parse(std::string_view text) {
  Scanner scan("projection", text);
  Projection projection;
  if (scan.take("ball")) {
    scan.expect("(");
    projection = ball(scan.number());
    scan.expect(")");
  } else if (scan.take("box")) {
    scan.expect("(");
    const double low = scan.number();
    scan.expect(",");
    projection = box(low, scan.number());
    scan.expect(")");
  } else if (!scan.take("none")) {
    scan.fail("none, ball(radius) or box(low, high)");
  }
  scan.end();
  return projection;
}

std::string Projection::to_string() const {
  switch (kind_) {
    case Kind::ball:
      return fmt::format("ball({})", number_text(high_));
    case Kind::box:
      return fmt::format("box({}, {})", number_text(low_), number_text(high_));
    case Kind::none:
      break;
  }
  return "none";
}

}  // namespace tandem
