// SPDX-License-Identifier: MIT
// A figure in gnuplot's language. No text of the figure gets into it but through gnuplot_string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/figure.h"

namespace tandem::report {

/// What gnuplot draws a series with in text, in the order of line types.
inline constexpr std::string_view kMarks = "*#$%@&=";

/// What a figure's pictures need: its data, under names that end with `index`.
std::string data_script(const Drawing& drawing, std::size_t index);
/// Draws it into the files of these names in the working folder; an empty name is left out.
std::string picture_script(const Figure& figure, const Drawing& drawing, std::size_t index,
                           const std::string& svg, const std::string& png);
/// Draws the curves with kMarks, and the axes, in characters; no other text is in it, so that a
/// mark in the output is always part of a curve.
std::string text_script(const Figure& figure, const Drawing& drawing, std::size_t index,
                        const std::string& file, int width, int height);

}  // namespace tandem::report
