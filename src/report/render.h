// SPDX-License-Identifier: MIT
// Draws figures by gnuplot, as SVG and PNG; curves.h has text. One process draws all that a call is
// given.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "report/figure.h"

namespace tandem::report {

/// Gnuplot failed, and what it said.
class FigureError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is no gnuplot on this machine; the message names the package.
class NoGnuplot : public FigureError {
 public:
  NoGnuplot();
};

/// Whether PATH has a gnuplot.
bool figures_available();

struct Formats {
  bool svg = true;
  bool png = false;
};

struct Picture {
  std::string svg;  // empty where it was not asked for
  std::string png;
};

/// A picture for each figure. The ids in a figure's SVG start with its name and number, so that
/// pictures of one call can stand in one page.
std::vector<Picture> render(const std::vector<Figure>& figures, const Formats& formats = {});

/// Writes NAME.svg and NAME.png of each figure into a folder, which is made; a name gets a number
/// where it was there before, and what a file name cannot have becomes '-'. Gives the paths.
std::vector<std::filesystem::path> write_figures(const std::filesystem::path& folder,
                                                 const std::vector<Figure>& figures,
                                                 const Formats& formats = {true, true});

}  // namespace tandem::report
