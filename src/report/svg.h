// SPDX-License-Identifier: MIT
// Makes gnuplot's SVG fit to stand in a page beside others.
#pragma once

#include <string>
#include <string_view>

namespace tandem::report {

/// `prefix` before every id and every reference to one, names of fonts that browsers have, `title`
/// in the place of gnuplot's titles, and no '>' in text.
std::string tidy_svg(std::string_view svg, std::string_view prefix, std::string_view title);

/// The <svg> element alone, with a role and `label` for readers of screens.
std::string inline_svg(std::string_view svg, std::string_view label);

}  // namespace tandem::report
