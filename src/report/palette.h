// SPDX-License-Identifier: MIT
// Which colour and dash an optimizer has: the same in every figure, whoever else is in it.
#pragma once

#include <string_view>

namespace tandem::report {

/// A colour of Okabe and Ito's palette, which colour-blind people tell apart, and a dash, for print
/// without colours.
struct Style {
  unsigned rgb = 0;  // 0xRRGGBB
  int dash = 0;      // into kDashes
  bool operator==(const Style&) const = default;
};

inline constexpr int kDashes = 6;
/// The dash as gnuplot writes it: lengths of strokes and gaps, or "solid".
std::string_view dash_pattern(int dash);

/// Whether it is a method with a style of its own.
bool is_known(std::string_view label);

/// Known methods have their own; any other label gets one that depends on the label alone.
Style style_of(std::string_view label);

}  // namespace tandem::report
