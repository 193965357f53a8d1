// SPDX-License-Identifier: MIT
// For tests: a small made NSL-KDD.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "base/random.h"

namespace tandem::cli {

/// Rows of 41 columns, three of them words; what is above the diagonal of the first two is an
/// attack, mostly.
inline std::string made_kdd(std::size_t rows) {
  Random random(3, 0);
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    const double x = random.normal();
    const double y = random.normal();
    text += fmt::format("{:.3f},{},http,SF,{:.3f}", x, row % 2 == 0 ? "tcp" : "udp", y);
    for (int column = 5; column < 41; ++column) text += fmt::format(",{}", random.below(5));
    text += y + random.normal() > x ? ",neptune,20\n" : ",normal,20\n";
  }
  return text;
}

}  // namespace tandem::cli
