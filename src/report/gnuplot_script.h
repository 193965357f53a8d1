// SPDX-License-Identifier: MIT
// A figure in gnuplot's language. No text of the figure gets into it but through gnuplot_string.
#pragma once

#include <cstddef>
#include <string>

#include "report/figure.h"

namespace tandem::report {

struct TextOptions {
  int width = 79;  // in characters
  int height = 24;
  bool colour = false;  // ANSI escapes, of 256 colours
};

/// What a figure's pictures need: its data, under names that end with `index`.
std::string data_script(const Drawing& drawing, std::size_t index);
/// Draws it into the files of these names in the working folder; an empty name is left out.
std::string picture_script(const Figure& figure, const Drawing& drawing, std::size_t index,
                           const std::string& svg, const std::string& png);
std::string text_script(const Figure& figure, const Drawing& drawing, std::size_t index,
                        const std::string& file, const TextOptions& options);

}  // namespace tandem::report
