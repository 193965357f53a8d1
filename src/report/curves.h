// SPDX-License-Identifier: MIT
// Figures as text, for a terminal.
#pragma once

#include <string>
#include <vector>

#include "report/figure.h"

namespace tandem::report {

struct TextOptions {
  int width = 79;  // in characters, of everything
  int height = 24;
  bool colour = false;  // ANSI escapes of 256 colours, the same as in pictures
};

/// For standard output as it is: its width, and colours where it is a terminal and NO_COLOR is not
/// set.
TextOptions terminal_options();

/// Title, curves, axes and a legend for each figure; seven series have marks of their own, more
/// share them. Throws NoGnuplot or FigureError.
std::vector<std::string> render_text(const std::vector<Figure>& figures,
                                     const TextOptions& options = {});

}  // namespace tandem::report
